// One event stream: what happened since its position, then what happens. Each stream of events has a consumer of its own,
// which NATS filters by org and type. It waits while the client reads slowly.
import { once } from 'node:events';
import { type Bus, lastSequence, openEventReader } from '@switchyard/bus';
import {
  EVENT_STREAMS,
  type Event,
  type EventStreamQuery,
  eventSubjects,
  ServiceError,
  type StreamedEvent,
  toStreamedEvent,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { EventStream } from '../http/event-stream.ts';
import { drained } from '../http/pass-bytes.ts';
import { formatPosition, type Position, parsePosition } from './position.ts';

interface SendEventsDeps {
  readonly bus: Bus;
  readonly clock: Clock;
}

interface EventStreamWish extends EventStreamQuery {
  readonly org: string;
  /** Aborted when the client disconnects, its key becomes invalid or the edge drains. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError until the stream begins; afterwards the last event has the error. */
export async function sendEvents(
  { bus, clock }: SendEventsDeps,
  wish: EventStreamWish,
  reply: FastifyReply,
): Promise<void> {
  const { signal } = wish;
  const position = parsePosition(wish.since, await lastPosition(bus));
  const events = new EventStream<StreamedEvent>(reply, clock);
  const over = new AbortController();
  try {
    signal.throwIfAborted();
    events.raw.write(`id: ${formatPosition(position)}\n\n`); // a client that reconnects before the first event misses none
    await Promise.race([
      once(signal, 'abort', { signal: over.signal }),
      ...EVENT_STREAMS.map((source) => follow(bus, source, { wish, events, position, over: over.signal })),
    ]);
    signal.throwIfAborted();
    throw new ServiceError('service_unavailable', 'The events ended. Connect again with Last-Event-ID.');
  } catch (thrown) {
    events.fail(thrown);
  } finally {
    over.abort(); // also removes the listener of `signal`, which the runtime would keep, and this stream with it
  }
}

async function lastPosition(bus: Bus): Promise<Position> {
  const [EVENTS, REFUSALS] = await Promise.all([lastSequence(bus, 'EVENTS'), lastSequence(bus, 'REFUSALS')]);
  return { EVENTS, REFUSALS };
}

interface Following {
  readonly wish: EventStreamWish;
  readonly events: EventStream<StreamedEvent>;
  /** Of what was sent, over both streams. */
  readonly position: Position;
  /** Aborted when the event stream has ended. */
  readonly over: AbortSignal;
}

/** Sends the wanted events of one stream after the position; resolves when they cannot be read further. */
async function follow(
  bus: Bus,
  { stream, suffix }: (typeof EVENT_STREAMS)[number],
  { wish, events, position, over }: Following,
): Promise<void> {
  const subjects = eventSubjects(wish.org, wish.type ?? ['*'], suffix);
  const reader = await openEventReader(bus, { stream, subjects, after: position[stream] });
  over.addEventListener('abort', () => reader.stop());
  if (over.aborted) return reader.stop();
  for await (const message of reader.messages) {
    if (over.aborted) return;
    position[stream] = message.sequence;
    const event = message.event();
    if (!event || !isWanted(wish, event)) continue;
    if (!events.send(toStreamedEvent(event), formatPosition(position))) await drained(events.raw);
  }
}

function isWanted({ key, computer }: EventStreamQuery, { data }: Event): boolean {
  const { key_id, computer_id } = data as { key_id?: string; computer_id?: string | null };
  return (key === undefined || key_id === key) && (computer === undefined || computer_id === computer);
}
