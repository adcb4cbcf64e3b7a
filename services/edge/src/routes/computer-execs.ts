// Commands in computers: awaited, streamed, or detached with a result to fetch later.
import { type Bus, requestHost } from '@switchyard/bus';
import {
  COMPUTER_BODY_BYTES_MAX,
  execEvent,
  execList,
  execObject,
  execRequest,
  execResult,
  pageFrom,
  shortListQuery,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { z } from 'zod';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { streamExec } from '../computers/exec-stream.ts';
import { execWhole } from '../computers/exec-whole.ts';
import type { FindHost } from '../computers/find-host.ts';
import type { BodyChecker } from '../http/body-checker.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { jsonRoute, type Route, rawRoute } from '../http/route.ts';
import { sendJsonBytes } from '../http/send-json.ts';
import { beforeWork } from '../idempotency/before-work.ts';
import { COMPUTERS_TAG, computerParams, RUNNING_COMPUTER_ERRORS } from './computer-route.ts';

interface ComputerExecRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly findHost: FindHost;
  readonly bodies: BodyChecker;
  readonly clock: Clock;
}

export function computerExecRoutes(deps: ComputerExecRoutesDeps): Route[] {
  return [execRoute(deps), listRoute(deps), getRoute(deps)];
}

function execRoute(deps: ComputerExecRoutesDeps): Route {
  const { bus, open, findHost, bodies, clock } = deps;
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/exec',
      operationId: 'execInComputer',
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: 'Run a shell command and wait for it; one that fails is a 200 with its exit code',
      description: `With \`stream: true\` its output comes as it is written, without a limit and at your pace: a command whose output you do not read waits, and its timeout goes on. A client that reads nothing for a minute counts as gone. By default a command ends with its client; with \`on_disconnect: "continue"\` it goes on, and its result waits under the request's id (X-Request-Id).`,
      bodyBytesMax: COMPUTER_BODY_BYTES_MAX,
      request: { params: computerParams, body: execRequest },
      computerParam: 'id',
      runsCommand: true,
      repeatable: false,
      response: {
        status: 200,
        description: 'Its output and its exit code',
        body: execResult,
        alsoStreams: true,
        streamEvent: execEvent,
        streamDescription:
          'With `stream: true`: an event `started` with the id of the command, events `output` with its bytes as text or base64, and as the last one `exit` with its exit code, or `error`. Each is JSON with the same `type`. A comment comes every 15 s of silence',
      },
      errors: [...RUNNING_COMPUTER_ERRORS, 'command_timed_out'],
    },
    async (request, reply, apiKey) => {
      const { id } = check(computerParams, request.params);
      const gone = clientGone(request, reply);
      const body = await bodies.check('exec', request);
      if (body.stream) await request.idempotent?.beginStream();
      request.body = undefined; // a command may run for hours
      request.heldBody?.release();
      await whileKeyHolds(open, apiKey, gone, async ({ org }, signal) => {
        const host = await beforeWork(request.idempotent, findHost(org, id));
        signal.addEventListener('abort', () => request.idempotent?.interrupted());
        if (body.stream) {
          const head = { request_id: request.id, org, id };
          return streamExec(deps, { host, head, body, signal }, reply);
        }
        const exec = { host, request: { id, org, body }, requestId: request.id, signal };
        sendJsonBytes(reply, await execWhole({ bus, clock }, exec));
      });
    },
  );
}

function listRoute({ bus, findHost }: ComputerExecRoutesDeps): Route {
  return jsonRoute(
    {
      method: 'GET',
      path: '/v1/computers/{id}/execs',
      operationId: 'listExecs',
      permission: 'computers:read',
      tag: COMPUTERS_TAG,
      summary: 'Commands that run in a computer, and those whose result is kept',
      request: { params: computerParams, query: shortListQuery },
      computerParam: 'id',
      response: { status: 200, description: 'The commands', body: execList },
      errors: RUNNING_COMPUTER_ERRORS,
    },
    async ({ key: { org }, params: { id }, query }) => {
      const { data } = await requestHost(bus, await findHost(org, id), 'exec-list', { id, org });
      return pageFrom(data, query, (exec) => exec.id);
    },
  );
}

function getRoute({ bus, findHost }: ComputerExecRoutesDeps): Route {
  return jsonRoute(
    {
      method: 'GET',
      path: '/v1/computers/{id}/execs/{exec_id}',
      operationId: 'getExec',
      permission: 'computers:read',
      tag: COMPUTERS_TAG,
      summary: 'One command, and its result if it is kept',
      description:
        'Results of commands that may outlive their client are kept until the computer stops: the last 64, with up to 16 MiB of output.',
      request: {
        params: computerParams.extend({ exec_id: z.string().describe('Id of the request that started it') }),
      },
      computerParam: 'id',
      response: { status: 200, description: 'The command', body: execObject },
      errors: [...RUNNING_COMPUTER_ERRORS, 'exec_not_found'],
    },
    async ({ key: { org }, params: { id, exec_id } }) =>
      requestHost(bus, await findHost(org, id), 'exec-get', { id, org, exec_id }),
  );
}
