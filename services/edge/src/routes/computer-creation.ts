// Creates a computer: answers when it runs, or streams the progress.
import { type Bus, request } from '@switchyard/bus';
import {
  computerObject,
  createComputerRequest,
  creationEvent,
  HOST_CREATE_TIMEOUT_MS,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { joinTags } from '../auth/caller-context.ts';
import type { OpenRelays } from '../auth/open-relays.ts';
import type { Spending } from '../auth/spending.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { streamCreation } from '../computers/creation-stream.ts';
import { type FindHost, requireComputers } from '../computers/find-host.ts';
import { parseBody } from '../http/read-body.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { beforeWork } from '../idempotency/before-work.ts';

/** Longer than control waits for a host, so that control decides how a creation ended. */
const CREATE_TIMEOUT_MS = HOST_CREATE_TIMEOUT_MS + 30_000;

interface ComputerCreationRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly findHost: FindHost;
  readonly spending: Spending;
  /** False when this installation has no Docker engine. */
  readonly enabled: boolean;
  readonly clock: Clock;
}

export function computerCreationRoutes(deps: ComputerCreationRoutesDeps): Route[] {
  const { bus, open, findHost, spending, enabled } = deps;
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/v1/computers',
        operationId: 'createComputer',
        permission: 'computers:write',
        charges: 'later',
        takesTags: true,
        tag: 'Computers',
        summary: 'Create a computer; it starts at once, and is billed by the minute',
        description: `The standard image needs no pull. Another image is pulled first, and the status is \`creating\` meanwhile. With \`stream: true\` the answer shows the progress, as GET does. If the client disconnects, the creation continues. DELETE cancels it at any time.`,
        request: { body: createComputerRequest },
        repeatable: false,
        response: {
          status: 201,
          description: 'The computer, running',
          body: computerObject,
          alsoStreams: true,
          streamStatus: 200,
          streamEvent: creationEvent,
          streamDescription:
            'Events `progress`, at most two a second, with the id of the computer and its progress; the last event is `computer`, as without a stream, or `error`. Each is JSON with the same `type`. A comment comes every 15 s of silence. An immediate refusal is an error answer with its own status',
        },
        errors: [
          'image_unavailable',
          'computer_not_found',
          'computer_limit_reached',
          'no_capacity',
          'computer_failed',
        ],
      },
      async ({ body: bytes, id: requestId, idempotent, caller }, reply, key) => {
        const body = parseBody(createComputerRequest, bytes);
        if (body.stream) await idempotent?.beginStream();
        requireComputers(enabled);
        const metadata = joinTags(body.metadata ?? {}, caller?.tags, 'metadata');
        const asked = {
          ...{ org: key.org, key_id: key.id, ...(await beforeWork(idempotent, spending.termsOf(key))) },
          body: { ...body, metadata },
        };
        const timeoutMs = CREATE_TIMEOUT_MS;
        if (body.stream)
          return whileKeyHolds(open, key, null, (_key, signal) => {
            signal.addEventListener('abort', () => idempotent?.interrupted());
            return streamCreation(deps, { request: asked, timeoutMs, signal }, reply);
          });
        const computer = await request(bus, 'computers.create', asked, { timeoutMs, requestId });
        sendJson(reply, computer, 201);
        findHost(key.org, computer.id).catch(() => {}); // fills the cache; the first command retries
      },
    ),
  ];
}
