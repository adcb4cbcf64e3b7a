// Parses messages of the stream into entries. A message that is not a valid event is rejected: it neither blocks the
// others nor disappears.
import { createHash } from 'node:crypto';
import type { JsMsg } from '@nats-io/jetstream';
import { readEvent } from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { Rejected } from './store/documents.ts';
import type { Entry } from './store/entries.ts';
import { entryOf } from './store/entry-of.ts';

/** Reasons are written for people, and also fit into a NATS header. */
const REASON_CHARACTERS_MAX = 500;
/** Alarm threshold for an emitter's clock: a clock that is further ahead puts charges into the wrong hour. */
const SKEW_MS_MAX = 5_000;
const MS_NANOS = 1_000_000;

interface ReadMessage {
  readonly message: JsMsg;
  readonly event: Event;
  /** Null: billing ignores the event. */
  readonly entry: Entry | null;
}

interface ReadBatch {
  /** In the order of the messages. */
  readonly read: ReadMessage[];
  readonly rejected: Map<JsMsg, Rejected>;
}

export function readBatch(messages: readonly JsMsg[], logger: Logger): ReadBatch {
  const read: ReadMessage[] = [];
  const rejected = new Map<JsMsg, Rejected>();
  let furthest: { event: Event; aheadMs: number } | null = null;
  for (const message of messages)
    try {
      const event = readEvent(message);
      const aheadMs = Date.parse(event.time) - message.info.timestampNanos / MS_NANOS;
      if (aheadMs > (furthest?.aheadMs ?? SKEW_MS_MAX)) furthest = { event, aheadMs };
      read.push({ message, event, entry: entryOf(event) });
    } catch (error) {
      rejected.set(message, rejectedOf(message, error instanceof Error ? error.message : String(error)));
    }
  if (furthest) warnOfSkew(furthest, logger);
  return { read, rejected };
}

export function entriesOf(read: readonly ReadMessage[]): Entry[] {
  return read.flatMap(({ entry }) => entry ?? []);
}

export function rejectedOf(message: JsMsg, reason: string): Rejected {
  return {
    _id: createHash('sha256').update(message.subject).update('\0').update(message.data).digest('hex'),
    subject: message.subject,
    seq: message.seq,
    at: message.time,
    reason: reason.replace(/\s+/g, ' ').slice(0, REASON_CHARACTERS_MAX),
    data: Buffer.from(message.data).toString('utf8'),
  };
}

function warnOfSkew({ event, aheadMs }: { event: Event; aheadMs: number }, logger: Logger): void {
  logger.error(
    { alarm: 'clock_skew', event: event.id, source: event.source, ahead_ms: aheadMs },
    'an event is from the future: the clock of its emitter is wrong',
  );
}
