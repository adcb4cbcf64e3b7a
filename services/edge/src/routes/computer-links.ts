// Links: addresses of a port, a terminal or the desktop of a computer that a browser opens without a key.
import { type Bus, requestHost } from '@switchyard/bus';
import {
  type ComputerDesktop,
  type ComputerLink,
  computerDesktop,
  computerLink,
  createLinkRequest,
  DESKTOP_PORT,
  desktopRequest,
  ServiceError,
} from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import type { FindHost } from '../computers/find-host.ts';
import type { LinkTokens } from '../computers/link-tokens.ts';
import { publicOrigin } from '../http/host-header.ts';
import { check, parseBody } from '../http/read-body.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { beforeWork } from '../idempotency/before-work.ts';
import type { Sessions } from '../session/sessions.ts';
import { COMPUTERS_TAG, computerParams, RUNNING_COMPUTER_ERRORS } from './computer-route.ts';

const DESKTOP_START_S_MAX = 60;
const COMMAND_NOT_FOUND = 127;
/** Longer than the desktop takes to start. */
const DESKTOP_TIMEOUT_MS = (DESKTOP_START_S_MAX + 30) * 1_000;

interface ComputerLinkRoutesDeps {
  readonly bus: Bus;
  readonly findHost: FindHost;
  readonly callerHash: Sessions['callerHash'];
  readonly links: LinkTokens;
  /** Public base URL; undefined: use the origin of the request. */
  readonly publicUrl: string | undefined;
}

export function computerLinkRoutes(deps: ComputerLinkRoutesDeps): Route[] {
  return [createLinkRoute(deps), desktopRoute(deps)];
}

function createLinkRoute(deps: ComputerLinkRoutesDeps): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/links',
      operationId: 'createComputerLink',
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: 'An address of a port or a terminal that needs no key, for a browser',
      description:
        'Until the link expires, anyone who has it can use this port as your key can, and nothing else. It ends with your key.',
      request: { params: computerParams, body: createLinkRequest },
      computerParam: 'id',
      response: { status: 201, description: 'The link', body: computerLink },
      errors: ['computer_not_found', 'no_capacity'],
    },
    async (request, reply, key) => {
      const { id } = check(computerParams, request.params);
      const { port = null, minutes } = parseBody(createLinkRequest, request.body);
      await deps.findHost(key.org, id, { recheck: true });
      const { base, expiresAt } = makeLink(deps, request, { id, port, minutes });
      const url = port === null ? base.replace(/^http/, 'ws') : base;
      const link: ComputerLink = { object: 'computer.link', url, expires_at: expiresAt };
      sendJson(reply, link, 201);
    },
  );
}

function desktopRoute(deps: ComputerLinkRoutesDeps): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/desktop',
      operationId: 'startDesktop',
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: 'Start the desktop and get its browser address',
      description:
        'For the standard image. A repeat gives another address of the same desktop. Chromium and other programs find it by DISPLAY=:1.',
      request: { params: computerParams, body: desktopRequest },
      computerParam: 'id',
      repeatable: false,
      response: { status: 200, description: 'The desktop’s address', body: computerDesktop },
      errors: [...RUNNING_COMPUTER_ERRORS, 'command_timed_out'],
    },
    async (request, reply, key) => {
      const { id } = check(computerParams, request.params);
      const { minutes } = parseBody(desktopRequest, request.body);
      const host = await beforeWork(request.idempotent, deps.findHost(key.org, id));
      await startDesktop(deps.bus, { host, org: key.org, id }, request.id);
      const { base, path, expiresAt } = makeLink(deps, request, { id, port: DESKTOP_PORT, minutes });
      // The small noVNC page: the large one stores its settings in browser storage, which a sandboxed page lacks.
      const socket = `${path.slice(1)}websockify`;
      const desktop: ComputerDesktop = {
        object: 'computer.desktop',
        url: `${base}vnc_lite.html?${new URLSearchParams({ scale: 'true', path: socket })}`,
        port: DESKTOP_PORT,
        expires_at: expiresAt,
      };
      sendJson(reply, desktop);
    },
  );
}

async function startDesktop(
  bus: Bus,
  { host, org, id }: { readonly host: string; readonly org: string; readonly id: string },
  requestId: string,
) {
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

interface NewLink {
  readonly id: string;
  readonly port: number | null;
  readonly minutes: number;
}

/** Returns the link's address with a trailing slash, so that relative addresses lead to the same port. */
function makeLink(deps: ComputerLinkRoutesDeps, request: FastifyRequest, { id, port, minutes }: NewLink) {
  const key = deps.callerHash(request.headers);
  const { token, expires } = deps.links.sign({ key, computer: id, port }, minutes * 60_000);
  const path = `/v1/links/${token}/`;
  return {
    base: publicOrigin(deps.publicUrl, request) + path,
    path,
    expiresAt: new Date(expires).toISOString(),
  };
}
