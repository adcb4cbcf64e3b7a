// One event stream: past events since its position, then new ones. Each stream of events has its own consumer, which
// NATS filters by org and type. It waits while the client reads slowly.
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

interface AskedEvents extends EventStreamQuery {
  readonly org: string;
  /** Aborted when the client disconnects, its key becomes invalid or the edge drains. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError until the stream begins; afterwards the last event has the error. */
export async function sendEvents(
  { bus, clock }: SendEventsDeps,
  asked: AskedEvents,
  reply: FastifyReply,
): Promise<void> {
  const { signal } = asked;
  const position = parsePosition(asked.since, await lastPosition(bus));
  const events = new EventStream<StreamedEvent>(reply, clock);
  const over = new AbortController();
  try {
    signal.throwIfAborted();
    events.raw.write(`id: ${formatPosition(position)}\n\n`); // a client that reconnects before the first event misses none
    await Promise.race([
      once(signal, 'abort', { signal: over.signal }),
      ...EVENT_STREAMS.map((source) => follow(bus, source, { asked, events, position, over: over.signal })),
    ]);
    signal.throwIfAborted();
    throw new ServiceError('service_unavailable', 'The stream ended. Reconnect with Last-Event-ID.');
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
  readonly asked: AskedEvents;
  readonly events: EventStream<StreamedEvent>;
  /** Of the last events sent, per stream. */
  readonly position: Position;
  /** Aborted when the event stream has ended. */
  readonly over: AbortSignal;
}

/** Sends the wanted events of one stream after the position; resolves when they cannot be read further. */
async function follow(
  bus: Bus,
  { stream, suffix }: (typeof EVENT_STREAMS)[number],
  { asked, events, position, over }: Following,
): Promise<void> {
  const subjects = eventSubjects(asked.org, asked.type ?? ['*'], suffix);
  const reader = await openEventReader(bus, { stream, subjects, after: position[stream] });
  over.addEventListener('abort', () => reader.stop());
  if (over.aborted) return reader.stop();
  for await (const message of reader.messages) {
    if (over.aborted) return;
    position[stream] = message.sequence;
    const event = message.event();
    if (!event || !isAsked(asked, event)) continue;
    if (!events.send(toStreamedEvent(event), formatPosition(position))) await drained(events.raw);
  }
}

function isAsked({ key, computer }: EventStreamQuery, { data }: Event): boolean {
  const { key_id, computer_id } = data as { key_id?: string; computer_id?: string | null };
  return (key === undefined || key_id === key) && (computer === undefined || computer_id === computer);
}
