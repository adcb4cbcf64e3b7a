// GET /v1/events: the events of the caller's org, as they happen.
import type { Bus } from '@switchyard/bus';
import {
  EVENT_STREAMS_PER_KEY_MAX,
  EVENT_STREAMS_PER_ORG_MAX,
  eventStreamQuery,
  type KeyRecord,
  ServiceError,
  streamedEvent,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { sendEvents } from '../events/send-events.ts';
import { EventStream } from '../http/event-stream.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { type Route, rawRoute } from '../http/route.ts';

interface EventRoutesDeps {
  readonly bus: Bus;
  readonly open: OpenRelays;
  /** Aborted when the edge drains. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
}

/** Seconds until a client that was refused tries again. */
const RETRY_AFTER_S = 5;

export function eventRoutes(deps: EventRoutesDeps): Route[] {
  const open = new OpenStreams();
  return [
    rawRoute(
      {
        method: 'GET',
        path: '/v1/events',
        operationId: 'streamEvents',
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
        open.add(key);
        try {
          await whileKeyHolds(deps.open, key, clientGone(request, reply), async ({ org }, signal) => {
            const until = AbortSignal.any([signal, deps.draining]);
            await sendEvents(deps, { ...query, org, signal: until }, reply);
          });
        } finally {
          open.remove(key);
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

/** Each open stream takes memory of NATS, about 110 KiB. */
class OpenStreams {
  /** Id of a key or an org -> its open streams on this edge. */
  readonly #counts = new Map<string, number>();

  /** @throws ServiceError `rate_limited` */
  add({ id, org }: KeyRecord): void {
    this.#check(id, 'API key', EVENT_STREAMS_PER_KEY_MAX);
    this.#check(org, 'org', EVENT_STREAMS_PER_ORG_MAX);
    for (const holder of [id, org]) this.#counts.set(holder, this.#countOf(holder) + 1);
  }

  remove({ id, org }: KeyRecord): void {
    for (const holder of [id, org]) {
      const left = this.#countOf(holder) - 1;
      if (left === 0) this.#counts.delete(holder);
      else this.#counts.set(holder, left);
    }
  }

  #countOf(holder: string): number {
    return this.#counts.get(holder) ?? 0;
  }

  #check(holder: string, kind: string, max: number): void {
    if (this.#countOf(holder) < max) return;
    const message = `This ${kind} has ${max} event streams open. Close one first.`;
    throw new ServiceError('rate_limited', message, { retryAfterS: RETRY_AFTER_S });
  }
}
