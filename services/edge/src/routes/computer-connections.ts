// Ports and terminals of computers, accessed with a key or with a link that a key created.
import type { Bus } from '@switchyard/bus';
import {
  type HostPortHead,
  type HostTerminalHead,
  hostSubject,
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
import type { LinkTokens } from '../computers/link-tokens.ts';
import { answerPreflight, cutPath, isPreflight, redirectToSlash, targetOf } from '../computers/port-path.ts';
import { serveTerminal } from '../computers/terminal-socket.ts';
import { publicOrigin } from '../http/host-header.ts';
import { check } from '../http/read-body.ts';
import { clientDisconnected, clientGone } from '../http/request-over.ts';
import { publicRoute, type Route, type RouteDescription, rawRoute } from '../http/route.ts';
import type { PendingUpgrade, Upgrades } from '../http/upgrades.ts';
import { COMPUTERS_TAG, computerParams, RUNNING_COMPUTER_ERRORS } from './computer-route.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** Paths at which the edge accepts WebSockets. */
export const UPGRADE_PATHS = /^\/v1\/(links\/|computers\/[^/?]+\/(ports\/|terminal(\?|$)))/;

const rest = z.string().default('').describe('The path on the server inside, with all its slashes');
const portParams = computerParams.extend({
  port: z.coerce.number().int().min(1).max(PORT_MAX).describe('The port inside'),
  path: rest,
});
const linkParams = z.object({
  token: z.string().describe('From POST /v1/computers/{id}/links'),
  path: rest,
});

const CONNECTION_ERRORS = [
  ...RUNNING_COMPUTER_ERRORS,
  'invalid_request',
  'rate_limited',
  'port_unreachable',
] as const;

interface ComputerConnectionRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly findHost: FindHost;
  readonly authenticateHash: AuthenticateHash;
  readonly links: LinkTokens;
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
  ];
}

function portRoute(deps: ComputerConnectionRoutesDeps, method: RouteDescription['method']): Route {
  return rawRoute(
    {
      method,
      path: '/v1/computers/{id}/ports/{port}/{path}',
      operationId: `${method.toLowerCase()}ComputerPort`,
      restParam: 'path',
      restOptional: true,
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: `${method} to a server in a computer`,
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
      operationId: `${method.toLowerCase()}ComputerLink`,
      restParam: 'path',
      restOptional: true,
      tag: COMPUTERS_TAG,
      summary: `${method} through a link`,
      description:
        'A link leads to a port of one computer, or (by WebSocket) to a terminal in it. Its pages run in a sandbox with their own origin: no cookies and no storage. Any origin may send requests (CORS).',
      untouchedBody: true,
      request: { params: linkParams },
      repeatable: false,
      response: { status: 200, description: 'As the server inside answers', contentType: '*/*' },
      errors: [
        ...(['url_not_valid', 'url_expired', 'invalid_api_key', 'expired_api_key'] as const),
        ...(['permission_denied', 'org_suspended'] as const),
        ...CONNECTION_ERRORS,
      ],
    },
    async (request, reply) => {
      const { token } = check(linkParams, request.params);
      const target = deps.links.readUrl(token, 'POST /v1/computers/{id}/links');
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
      operationId: 'openTerminal',
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: 'A terminal, by WebSocket',
      description:
        'A login shell in /workspace. Binary messages are bytes, both ways; a text message `{"type":"resize","cols":120,"rows":40}` resizes it, and the last message is `{"type":"exit","exit_code":0}`. It and everything started in it end with the connection. A browser uses a link.',
      request: { params: computerParams, query: terminalQuery },
      computerParam: 'id',
      response: { status: 101, description: 'The connection is a WebSocket from here on' },
      errors: CONNECTION_ERRORS,
    },
    (request, reply, key) =>
      toTerminal(deps, { key, id: check(computerParams, request.params).id }, request, reply),
  );
}

interface PortCall {
  readonly key: KeyRecord;
  readonly id: string;
  readonly port: number;
  /** Segments of the path before that of the server inside. */
  readonly segments: number;
  readonly anyOrigin: boolean;
}

async function toPort(
  deps: ComputerConnectionRoutesDeps,
  call: PortCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { key, id, port, segments, anyOrigin } = call;
  const upgrade = deps.upgrades.of(request.raw);
  const { prefix, path, slash } = cutPath(targetOf(request), segments);
  if (!slash && !upgrade && (request.method === 'GET' || request.method === 'HEAD'))
    return redirectToSlash(request, reply, anyOrigin);
  const [scheme = '', , host = ''] = publicOrigin(deps.publicUrl, request).split('/'); // HTTP/1.0 may have no host
  await whileKeyHolds(deps.open, key, goneOf(upgrade, request, reply), async ({ org }, signal) => {
    const head: HostPortHead = { request_id: request.id, org, id, port };
    const subject = hostSubject(await deps.findHost(org, id), 'port');
    const connection = await openCallStream(deps.bus, { subject, head }, signal);
    const to = { connection, port, path, prefix, protocol: scheme.slice(0, -1), host, anyOrigin, upgrade };
    await forwardRequest(to, request, reply);
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
    const subject = hostSubject(await deps.findHost(org, id), 'terminal');
    const terminal = await openCallStream(deps.bus, { subject, head }, signal);
    reply.hijack();
    const asked = { request: request.raw, requestId: request.id, upgrade };
    await serveTerminal(asked, terminal, deps.clock);
  });
}

function goneOf(upgrade: PendingUpgrade | null, request: FastifyRequest, reply: FastifyReply): AbortSignal {
  if (!upgrade) return clientGone(request, reply);
  const gone = new AbortController();
  upgrade.socket.once('close', () => gone.abort(clientDisconnected()));
  return gone.signal;
}
