// GET /v1/events: the events of the caller's org, as they happen.
import type { Bus } from '@switchyard/bus';
import {
  EVENT_STREAMS_PER_KEY_MAX,
  eventStreamQuery,
  ServiceError,
  streamedEvent,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import type { LiveEvents } from '../events/live-events.ts';
import { sendEvents } from '../events/send-events.ts';
import { EventStream } from '../http/event-stream.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { type Route, rawRoute } from '../http/route.ts';

interface EventRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  readonly live: LiveEvents;
  /** Aborted when the edge drains. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
}

/** Seconds until a client that was refused tries again. */
const RETRY_AFTER_S = 5;

export function eventRoutes(deps: EventRoutesDeps): Route[] {
  const openByKey = new Map<string, number>();
  return [
    rawRoute(
      {
        method: 'GET',
        path: '/v1/events',
        permission: 'usage:read',
        tag: 'Events',
        summary: 'The events of your org as they happen, as server-sent events',
        description:
          'The ids are positions: `Last-Event-ID` or `since` resumes after one, as long as events are kept (7 days). `error` is the last event of a stream that ends early.',
        request: { query: eventStreamQuery },
        response: {
          status: 200,
          description: 'The events; their `data` is what webhooks send, with the event’s `id`',
          contentType: 'text/event-stream',
          body: streamedEvent,
        },
        errors: ['invalid_request', 'unknown_field', 'rate_limited', 'service_unavailable'],
      },
      async (request, reply, key) => {
        const query = check(eventStreamQuery, withLastId(request));
        if (request.method === 'HEAD') {
          new EventStream(reply, deps.clock).end();
          return;
        }
        const count = openByKey.get(key.id) ?? 0;
        if (count >= EVENT_STREAMS_PER_KEY_MAX) throw tooMany();
        openByKey.set(key.id, count + 1);
        try {
          await whileKeyHolds(deps.open, key, clientGone(request, reply), async ({ org }, signal) => {
            const until = AbortSignal.any([signal, deps.draining]);
            await sendEvents(deps, { ...query, org, signal: until }, reply);
          });
        } finally {
          const left = (openByKey.get(key.id) ?? 1) - 1;
          if (left === 0) openByKey.delete(key.id);
          else openByKey.set(key.id, left);
        }
      },
    ),
  ];
}

/** A browser that reconnects sends the id of the last event, and the address that it began with. */
function withLastId({ headers, query }: FastifyRequest): unknown {
  const last = headers['last-event-id'];
  return typeof last === 'string' && last !== '' ? { ...(query as object), since: last } : query;
}

function tooMany(): ServiceError {
  return new ServiceError(
    'rate_limited',
    `this API key has ${EVENT_STREAMS_PER_KEY_MAX} event streams open: close one first`,
    { retryAfterS: RETRY_AFTER_S },
  );
}
