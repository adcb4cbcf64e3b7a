// Ports, terminals and the desktop of computers, accessed with a key or with a link that a key created.
import { type Bus, requestHost } from '@switchyard/bus';
import {
  type ComputerDesktop,
  type ComputerLink,
  computerDesktop,
  computerLink,
  createLinkRequest,
  DESKTOP_PORT,
  desktopRequest,
  type HostPortHead,
  type HostTerminalHead,
  hostPortSubject,
  hostTerminalSubject,
  type KeyRecord,
  PORT_MAX,
  ServiceError,
  terminalQuery,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type AuthenticateHash, requirePermission } from '../auth/authenticate.ts';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { openCallStream } from '../computers/call-stream.ts';
import type { FindHost } from '../computers/find-host.ts';
import { forwardRequest } from '../computers/forward-request.ts';
import type { LinkSigner } from '../computers/link-signer.ts';
import { ANY_ORIGIN } from '../computers/port-headers.ts';
import { serveTerminal } from '../computers/terminal-socket.ts';
import { clientGone } from '../http/client-gone.ts';
import { publicOrigin } from '../http/public-origin.ts';
import { check, parseBody } from '../http/read-body.ts';
import { publicRoute, type Route, type RouteDescription, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import type { PendingUpgrade, Upgrades } from '../http/upgrades.ts';
import type { Sessions } from '../session/sessions.ts';

const TAG = 'Computers';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const DESKTOP_START_S_MAX = 60;
const COMMAND_NOT_FOUND = 127;
/** Longer than the desktop takes to start. */
const DESKTOP_TIMEOUT_MS = (DESKTOP_START_S_MAX + 30) * 1_000;

/** Paths at which the edge accepts WebSockets. */
export const UPGRADE_PATHS = /^\/v1\/(links\/|computers\/[^/?]+\/(ports\/|terminal(\?|$)))/;

const params = z.object({ id: z.string().describe('Id of the computer') });
const rest = z.string().default('').describe('The path on the server inside, with all its slashes');
const portParams = params.extend({
  port: z.coerce.number().int().min(1).max(PORT_MAX).describe('The port inside'),
  path: rest,
});
const linkParams = z.object({
  token: z.string().describe('As POST /v1/computers/{id}/links gave it'),
  path: rest,
});

const CONNECTION_ERRORS = [
  'invalid_request',
  'computer_not_found',
  'computer_not_running',
  'computer_busy',
  'rate_limited',
  'port_unreachable',
  'computer_failed',
  'no_capacity',
] as const;

interface ComputerConnectionRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly findHost: FindHost;
  readonly authenticateHash: AuthenticateHash;
  readonly callerHash: Sessions['callerHash'];
  readonly links: LinkSigner;
  readonly upgrades: Upgrades;
  /** Public base URL; undefined: use the origin of the request. */
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
}

export function computerConnectionRoutes(deps: ComputerConnectionRoutesDeps): Route[] {
  return [
    ...METHODS.map((method) => portRoute(deps, method)),
    ...METHODS.map((method) => linkRoute(deps, method)),
    terminalRoute(deps),
    createLinkRoute(deps),
    desktopRoute(deps),
  ];
}

function portRoute(deps: ComputerConnectionRoutesDeps, method: RouteDescription['method']): Route {
  return rawRoute(
    {
      method,
      path: '/v1/computers/{id}/ports/{port}/{path}',
      restParam: 'path',
      restOptional: true,
      permission: 'computers:write',
      tag: TAG,
      summary: `${method} of a server in a computer`,
      description:
        'Any request, and WebSockets, to a server on a port inside, also one that listens on localhost only. Bodies stream both ways. `Authorization` and cookies are not passed on; `X-Computer-Authorization` arrives as `Authorization`. The computer is busy meanwhile. A browser uses a link.',
      untouchedBody: true,
      request: { params: portParams },
      computerParam: 'id',
      repeatable: false,
      response: { status: 200, description: 'As the server inside answers', contentType: '*/*' },
      errors: CONNECTION_ERRORS,
    },
    async (request, reply, key) => {
      const { id, port } = check(portParams, request.params);
      await toPort(deps, { key, id, port, segments: 5, anyOrigin: false }, request, reply);
    },
  );
}

function linkRoute(deps: ComputerConnectionRoutesDeps, method: RouteDescription['method']): Route {
  return publicRoute(
    {
      method,
      path: '/v1/links/{token}/{path}',
      restParam: 'path',
      restOptional: true,
      tag: TAG,
      summary: `${method} through a link`,
      description:
        'What a link leads to: a port of one computer, or (by WebSocket) a terminal in it. Pages from inside are shown in a sandbox with an origin of their own: no cookies and no storage. Any page may ask (CORS).',
      untouchedBody: true,
      request: { params: linkParams },
      repeatable: false,
      response: { status: 200, description: 'As the server inside answers', contentType: '*/*' },
      errors: ['url_not_valid', 'url_expired', 'invalid_api_key', ...CONNECTION_ERRORS],
    },
    async (request, reply) => {
      const target = deps.links.verify(check(linkParams, request.params).token);
      request.subject = { type: null, model: null, computer: target.computer };
      const key = await deps.authenticateHash(target.key);
      requirePermission(key, 'computers:write');
      request.apiKey = key;
      const id = target.computer;
      if (target.port === null) return toTerminal(deps, { key, id }, request, reply);
      if (isPreflight(request)) return answerPreflight(request, reply);
      await toPort(deps, { key, id, port: target.port, segments: 3, anyOrigin: true }, request, reply);
    },
  );
}

function terminalRoute(deps: ComputerConnectionRoutesDeps): Route {
  return rawRoute(
    {
      method: 'GET',
      path: '/v1/computers/{id}/terminal',
      permission: 'computers:write',
      tag: TAG,
      summary: 'A terminal, by WebSocket',
      description:
        'A login shell in /workspace. Binary messages are bytes, both ways; a text message `{"type":"resize","cols":120,"rows":40}` gives it another size, and the last message is `{"type":"exit","exit_code":0}`. It ends with the connection, and all that was started in it. A browser uses a link.',
      request: { params, query: terminalQuery },
      computerParam: 'id',
      response: { status: 101, description: 'The connection is a WebSocket from here on' },
      errors: CONNECTION_ERRORS,
    },
    (request, reply, key) => toTerminal(deps, { key, id: check(params, request.params).id }, request, reply),
  );
}

function createLinkRoute(deps: ComputerConnectionRoutesDeps): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/links',
      permission: 'computers:write',
      tag: TAG,
      summary: 'An address of a port or a terminal that needs no key, for a browser',
      description:
        'Whoever has the link can use the port until it expires, as your key can; nothing else. It ends with your key.',
      request: { params, body: createLinkRequest },
      computerParam: 'id',
      response: { status: 201, description: 'The link', body: computerLink },
      errors: ['computer_not_found', 'no_capacity'],
    },
    async (request, reply, key) => {
      const { id } = check(params, request.params);
      const { port = null, minutes } = parseBody(createLinkRequest, request.body);
      await deps.findHost(key.org, id);
      const { base, expiresAt } = makeLink(deps, request, { id, port, minutes });
      const url = port === null ? base.replace(/^http/, 'ws') : base;
      const link: ComputerLink = { object: 'computer.link', url, expires_at: expiresAt.toISOString() };
      sendJson(reply, link, 201);
    },
  );
}

function desktopRoute(deps: ComputerConnectionRoutesDeps): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/desktop',
      permission: 'computers:write',
      tag: TAG,
      summary: 'Start the desktop, and where a browser sees it',
      description:
        'Of the standard image. Asked again it gives another address of the same desktop. Chromium and other programs find it by DISPLAY=:1.',
      request: { params, body: desktopRequest },
      computerParam: 'id',
      repeatable: false,
      response: { status: 200, description: 'The desktop’s address', body: computerDesktop },
      errors: [
        'computer_not_found',
        'computer_not_running',
        'computer_busy',
        'command_timed_out',
        'computer_failed',
        'no_capacity',
      ],
    },
    async (request, reply, key) => {
      const { id } = check(params, request.params);
      const { minutes } = parseBody(desktopRequest, request.body);
      await startDesktop(deps, key.org, id, request.id);
      const { base, expiresAt } = makeLink(deps, request, { id, port: DESKTOP_PORT, minutes });
      // The small noVNC page: the large one stores its settings in browser storage, which a sandboxed page lacks.
      const socket = new URL('websockify', base).pathname.slice(1);
      const desktop: ComputerDesktop = {
        object: 'computer.desktop',
        url: `${base}vnc_lite.html?${new URLSearchParams({ scale: 'true', path: socket })}`,
        port: DESKTOP_PORT,
        expires_at: expiresAt.toISOString(),
      };
      sendJson(reply, desktop);
    },
  );
}

async function startDesktop(
  { bus, findHost }: ComputerConnectionRoutesDeps,
  org: string,
  id: string,
  requestId: string,
) {
  const host = await findHost(org, id);
  const body = { command: 'start-desktop', timeout: DESKTOP_START_S_MAX };
  const result = await requestHost(
    bus,
    host,
    'exec',
    { id, org, body },
    { timeoutMs: DESKTOP_TIMEOUT_MS, requestId },
  );
  if (result.exit_code === 0) return;
  const why = result.exit_code === COMMAND_NOT_FOUND ? 'its image lacks one' : 'it did not start';
  throw new ServiceError('computer_failed', `The computer has no desktop: ${why}. Use the standard image.`, {
    details: { stdout: result.stdout.slice(-2_000), exit_code: result.exit_code },
  });
}

interface LinkWish {
  readonly id: string;
  readonly port: number | null;
  readonly minutes: number;
}

/** Returns the link's address with a trailing slash, so that relative addresses lead to the same port. */
function makeLink(
  deps: ComputerConnectionRoutesDeps,
  request: FastifyRequest,
  { id, port, minutes }: LinkWish,
) {
  const key = deps.callerHash(request.headers);
  const { token, expiresAt } = deps.links.sign({ key, computer: id, port }, minutes);
  return { base: `${publicOrigin(deps.publicUrl, request)}/v1/links/${token}/`, expiresAt };
}

interface PortWish {
  readonly key: KeyRecord;
  readonly id: string;
  readonly port: number;
  /** Segments of the path before that of the server inside. */
  readonly segments: number;
  readonly anyOrigin: boolean;
}

async function toPort(
  deps: ComputerConnectionRoutesDeps,
  wish: PortWish,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { key, id, port, segments, anyOrigin } = wish;
  const upgrade = deps.upgrades.of(request.raw);
  const { prefix, path, slash } = cutPath(targetOf(request), segments);
  if (!slash && !upgrade && (request.method === 'GET' || request.method === 'HEAD'))
    return redirectToSlash(request, reply, anyOrigin);
  const { protocol, host } = new URL(publicOrigin(deps.publicUrl, request));
  await whileKeyHolds(deps.open, key, goneOf(upgrade, request, reply), async ({ org }, signal) => {
    const head: HostPortHead = { request_id: request.id, org, id, port };
    const subject = hostPortSubject(await deps.findHost(org, id));
    const connection = await openCallStream(deps.bus, { subject, head }, signal);
    const to = { connection, port, path, prefix, protocol: protocol.slice(0, -1), host, anyOrigin, upgrade };
    await forwardRequest(to, deps.clock, request, reply);
  });
}

async function toTerminal(
  deps: ComputerConnectionRoutesDeps,
  { key, id }: { key: KeyRecord; id: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { cols, rows } = check(terminalQuery, request.query);
  const upgrade = deps.upgrades.of(request.raw);
  if (!upgrade)
    throw new ServiceError('invalid_request', 'A terminal needs a WebSocket. Connect with ws or wss.');
  await whileKeyHolds(deps.open, key, goneOf(upgrade, request, reply), async ({ org }, signal) => {
    const head: HostTerminalHead = { request_id: request.id, org, id, cols, rows };
    const subject = hostTerminalSubject(await deps.findHost(org, id));
    const terminal = await openCallStream(deps.bus, { subject, head }, signal);
    reply.hijack();
    const asked = { request: request.raw, requestId: request.id, upgrade };
    await serveTerminal(asked, terminal, deps.clock);
  });
}

function goneOf(upgrade: PendingUpgrade | null, request: FastifyRequest, reply: FastifyReply): AbortSignal {
  if (!upgrade) return clientGone(request, reply);
  const gone = new AbortController();
  upgrade.socket.once('close', () =>
    gone.abort(new ServiceError('service_unavailable', 'The client disconnected.')),
  );
  return gone.signal;
}

/** The request target as received; of an absolute URL, which proxy clients send, the part after the host. */
function targetOf({ raw: { url = '/' } }: FastifyRequest): string {
  return url.replace(/^https?:\/\/[^/?]*/i, '');
}

/** Splits the path without decoding it. `slash`: whether the server's own path begins with a slash. */
function cutPath(url: string, segments: number): { prefix: string; path: string; slash: boolean } {
  const match = new RegExp(`^((?:/[^/?]*){${segments}})(.*)$`).exec(url);
  const [, prefix = '', path = ''] = match ?? [];
  const slash = path.startsWith('/');
  return { prefix, path: slash ? path : `/${path}`, slash };
}

/**
 * A page's relative addresses lead to its own server only below the slash. A request with a body is not redirected, to
 * avoid sending it twice, and WebSocket clients follow no redirects: both go to the server's root as if the slash were
 * there.
 */
function redirectToSlash(request: FastifyRequest, reply: FastifyReply, anyOrigin: boolean): void {
  const [path = '', ...query] = targetOf(request).split('?');
  const last = path.slice(path.lastIndexOf('/') + 1);
  reply
    .code(308)
    .headers(anyOrigin ? Object.fromEntries(ANY_ORIGIN) : {})
    .header('location', [`${last}/`, ...query].join('?')) // relative, so any proxy in front of the edge still works
    .header('x-request-id', request.id)
    .send();
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Answers for the server inside, which does not know that its page has an opaque origin. */
function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  const wanted = request.headers['access-control-request-headers'];
  reply
    .code(204)
    .headers(Object.fromEntries(ANY_ORIGIN))
    .header('access-control-allow-methods', '*')
    .header('access-control-allow-headers', wanted ?? '*')
    .header('access-control-max-age', '600')
    .header('x-request-id', request.id)
    .send();
}
