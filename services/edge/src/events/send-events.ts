// One event stream: first what happened since its position, then live events. Live events wait in a bounded buffer; a
// reader that falls behind is ended with an error event, and resumes from the last id that it has.
import { type Bus, openEventReader } from '@switchyard/bus';
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
import type { LiveEvent, LiveEvents, Position } from './live-events.ts';
import { formatPosition, parsePosition } from './position.ts';

/** Live events that wait for one reader. */
export const WAITING_EVENTS_MAX = 1_000;

interface SendEventsDeps {
  readonly bus: Bus;
  readonly live: LiveEvents;
  readonly clock: Clock;
}

interface EventStreamWish extends EventStreamQuery {
  readonly org: string;
  /** Aborted when the client disconnects, its key becomes invalid or the edge drains. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError until the stream begins; afterwards the last event has the error. */
export async function sendEvents(
  deps: SendEventsDeps,
  wish: EventStreamWish,
  reply: FastifyReply,
): Promise<void> {
  const tooSlow = new AbortController();
  const signal = AbortSignal.any([wish.signal, tooSlow.signal]);
  const waiting: LiveEvent[] = [];
  let wake = () => {};
  const onAbort = () => wake();
  const { at, leave } = await deps.live.join(wish.org, (live) => {
    if (!isWanted(wish, live.event)) return;
    if (waiting.length === WAITING_EVENTS_MAX) tooSlow.abort(readerTooSlow());
    else waiting.push(live);
    wake();
  });
  try {
    const position = parsePosition(wish.since, at);
    const stream = new EventStream<StreamedEvent>(reply, deps.clock);
    for (const happens of ['drain', 'close']) stream.raw.on(happens, () => wake());
    signal.addEventListener('abort', onAbort);
    const pause = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const send = async (live: LiveEvent) => {
      position[live.stream] = live.sequence;
      if (stream.send(toStreamedEvent(live.event), formatPosition(position))) return;
      while (!stream.hasRoom && !signal.aborted) await pause();
    };
    try {
      stream.raw.write(`id: ${formatPosition(position)}\n\n`); // a client that reconnects before the first event misses none
      for await (const live of readGap(deps.bus, wish, { from: position, to: at, signal })) await send(live);
      while (!signal.aborted) {
        const next = waiting.shift();
        if (!next) await pause();
        else if (next.sequence > at[next.stream]) await send(next);
      }
      signal.throwIfAborted();
    } catch (thrown) {
      stream.fail(thrown);
    }
  } finally {
    signal.removeEventListener('abort', onAbort); // else the runtime keeps the signal, and this stream with it
    leave();
  }
}

interface Gap {
  readonly from: Position;
  readonly to: Position;
  readonly signal: AbortSignal;
}

/** The wanted events after `from` up to `to`, one stream after the other; moves `from` along. */
async function* readGap(
  bus: Bus,
  wish: EventStreamWish,
  { from, to, signal }: Gap,
): AsyncGenerator<LiveEvent> {
  for (const { stream, suffix } of EVENT_STREAMS) {
    const last = to[stream];
    if (from[stream] >= last) continue;
    const subjects = eventSubjects(wish.org, wish.type ?? ['*'], suffix);
    const reader = await openEventReader(bus, { stream, subjects, after: from[stream] });
    const stop = () => reader.stop();
    signal.addEventListener('abort', stop);
    try {
      let left = reader.pending;
      if (left > 0)
        for await (const message of reader.messages) {
          signal.throwIfAborted();
          if (message.sequence > last) break;
          const event = message.event();
          if (event && isWanted(wish, event)) yield { stream, sequence: message.sequence, event };
          left -= 1;
          if (left === 0 || message.sequence === last) break;
        }
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
    signal.throwIfAborted();
    from[stream] = last;
  }
}

function isWanted({ type, key, computer }: EventStreamQuery, event: Event): boolean {
  const { key_id, computer_id } = event.data as { key_id?: string; computer_id?: string | null };
  if (key !== undefined && key_id !== key) return false;
  if (computer !== undefined && computer_id !== computer) return false;
  return !type || type.some((one) => one === '*' || one === event.type || isNounOf(one, event.type));
}

function isNounOf(pattern: string, name: string): boolean {
  return pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1));
}

function readerTooSlow(): ServiceError {
  return new ServiceError(
    'reader_too_slow',
    'the events were not read in time: connect again with Last-Event-ID',
  );
}
