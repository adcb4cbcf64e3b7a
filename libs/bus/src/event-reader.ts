// Reads events of a stream in order, from a position on, with an ordered consumer that resumes by itself.
import { type ConsumerMessages, DeliverPolicy } from '@nats-io/jetstream';
import type { Event, EventStream } from '@switchyard/contracts';
import type { Bus } from './bus.ts';
import { readEvent } from './read-event.ts';

/** Events that are fetched ahead of their reader. */
const AHEAD_MAX = 256;

interface EventReaderOptions {
  readonly stream: EventStream;
  /** Stream subjects that do not overlap. */
  readonly subjects: readonly string[];
  /** Sequence before the first event to read. */
  readonly after: number;
}

interface ReadMessage {
  readonly sequence: number;
  /** Null for a message that is not an event of ours. */
  event(): Event | null;
}

export interface EventReader {
  /** Events that were waiting when the reader was opened. */
  readonly pending: number;
  /** Ends after `stop`; also when the consumer cannot continue. */
  readonly messages: AsyncIterable<ReadMessage>;
  stop(): void;
}

/** Sequence of the last message of a stream. */
export async function lastSequence(bus: Bus, stream: EventStream): Promise<number> {
  const { state } = await bus.jsm.streams.info(stream);
  return state.last_seq;
}

export async function openEventReader(
  bus: Bus,
  { stream, subjects, after }: EventReaderOptions,
): Promise<EventReader> {
  const consumer = await bus.js.consumers.get(stream, {
    filter_subjects: [...subjects],
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: after + 1,
  });
  const { num_pending: pending } = await consumer.info(true);
  const messages = await consumer.consume({ max_messages: AHEAD_MAX });
  let isStopped = false;
  const stop = () => {
    messages.stop();
    if (!isStopped) consumer.delete().catch(() => {}); // else NATS keeps it for 5 minutes
    isStopped = true;
  };
  return { pending, messages: read(messages, stop), stop };
}

async function* read(messages: ConsumerMessages, stop: () => void): AsyncGenerator<ReadMessage> {
  try {
    for await (const message of messages) {
      yield {
        sequence: message.seq,
        event() {
          try {
            return readEvent(message);
          } catch {
            return null;
          }
        },
      };
    }
  } finally {
    stop();
  }
}
