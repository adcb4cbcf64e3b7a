// Reads and writes files of a computer's /workspace directly.
import { type Bus, openReply, requestHost } from '@switchyard/bus';
import {
  FILE_BYTES_MAX,
  type HostFileWriteHead,
  hostSubject,
  ServiceError,
  type WorkspaceWritten,
  workspaceDeleted,
  workspaceDeleteQuery,
  workspaceFolder,
  workspaceQuery,
  workspaceWriteQuery,
  workspaceWritten,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import type { FindHost } from '../computers/find-host.ts';
import { sendWorkspace } from '../computers/send-workspace.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { CONTENT_RESPONSE, jsonRoute, type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { declaredBytes, streamedBody } from '../http/streamed-body.ts';
import { COMPUTERS_TAG, computerParams, RUNNING_COMPUTER_ERRORS } from './computer-route.ts';

const PATH = '/v1/computers/{id}/files';
const NO_TIMEOUT = Number.POSITIVE_INFINITY;

interface ComputerFileRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly findHost: FindHost;
  readonly clock: Clock;
}

export function computerFileRoutes(deps: ComputerFileRoutesDeps): Route[] {
  const { bus, open, findHost } = deps;
  return [
    rawRoute(
      {
        method: 'GET',
        path: PATH,
        operationId: 'readComputerFile',
        permission: 'computers:read',
        tag: COMPUTERS_TAG,
        summary: 'The bytes of a file of /workspace, or what is in a folder',
        description:
          'A file is sent as it is, always as an attachment; with `Range` the requested part, as 206; with `If-None-Match` and its `ETag` 304. A folder is JSON: its entries with name, type, length and time of change. The computer must be running, and counts as busy meanwhile.',
        request: { params: computerParams, query: workspaceQuery },
        computerParam: 'id',
        response: { ...CONTENT_RESPONSE, contentType: 'application/octet-stream', folder: workspaceFolder },
        errors: [...RUNNING_COMPUTER_ERRORS, 'path_not_found', 'range_not_satisfiable'],
      },
      (request, reply, apiKey) => {
        const { id } = check(computerParams, request.params);
        const { path } = check(workspaceQuery, request.query);
        return whileKeyHolds(open, apiKey, clientGone(request, reply), async ({ org }, signal) => {
          const host = await findHost(org, id);
          await sendWorkspace(bus, { host, org, id, path, signal }, request, reply);
        });
      },
    ),
    rawRoute(
      {
        method: 'PUT',
        path: PATH,
        operationId: 'writeComputerFile',
        permission: 'computers:write',
        tag: COMPUTERS_TAG,
        summary: 'Write a file of /workspace',
        description:
          'The body is its content, of any type, at most 512 MB. It is written as a whole, replacing any existing file, or not at all. `If-Match` with the `ETag` of a file replaces only this file; `If-None-Match: *` replaces none. The computer must be running, and counts as busy meanwhile.',
        bodyBytesMax: FILE_BYTES_MAX,
        request: { params: computerParams, query: workspaceWriteQuery, bytes: true },
        computerParam: 'id',
        response: { status: 200, description: 'Where the file is now', body: workspaceWritten },
        errors: [...RUNNING_COMPUTER_ERRORS, 'precondition_failed', 'body_too_large', 'body_timeout'],
      },
      async (request, reply, apiKey) => {
        const { id } = check(computerParams, request.params);
        const { path } = check(workspaceWriteQuery, request.query);
        const gone = clientGone(request, reply);
        const written = await whileKeyHolds(open, apiKey, gone, async ({ org }, signal) => {
          const host = await findHost(org, id);
          return write(deps, { host, org, id, path, signal }, request);
        }).catch((error: unknown) => {
          request.raw.resume(); // discards the rest of the body, so that the client reads its answer
          throw error;
        });
        sendJson(reply, written);
      },
    ),
    jsonRoute(
      {
        method: 'DELETE',
        path: PATH,
        operationId: 'deleteComputerFile',
        permission: 'computers:write',
        tag: COMPUTERS_TAG,
        summary: 'Delete a file or folder of /workspace',
        request: { params: computerParams, query: workspaceDeleteQuery },
        computerParam: 'id',
        response: { status: 200, description: 'It is gone', body: workspaceDeleted },
        errors: [...RUNNING_COMPUTER_ERRORS, 'path_not_found'],
      },
      async ({ key: { org }, params: { id }, query: { path, recursive }, signal, requestId }) =>
        requestHost(
          bus,
          await findHost(org, id),
          'file-delete',
          { id, org, path, recursive: recursive === 'true' },
          { timeoutMs: NO_TIMEOUT, signal, requestId },
        ),
    ),
  ];
}

interface WrittenPath {
  readonly host: string;
  readonly org: string;
  readonly id: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

async function write(
  { bus, clock }: ComputerFileRoutesDeps,
  { host, org, id, path, signal }: WrittenPath,
  request: FastifyRequest,
): Promise<WorkspaceWritten> {
  const bytes = declaredBytes(request.raw);
  if (bytes !== null && bytes > FILE_BYTES_MAX)
    throw new ServiceError(
      'body_too_large',
      `The file exceeds ${FILE_BYTES_MAX} bytes. Send a smaller file.`,
    );
  const { 'if-match': if_match = null, 'if-none-match': if_none_match = null } = request.headers;
  const head: HostFileWriteHead = { request_id: request.id, org, id, path, bytes, if_match, if_none_match };
  const body = streamedBody(request.raw, { clock, bytesMax: FILE_BYTES_MAX });
  const answer = await openReply(bus, { subject: hostSubject(host, 'file-write'), head, body }, signal);
  return workspaceWritten.parse(await answer.end);
}
