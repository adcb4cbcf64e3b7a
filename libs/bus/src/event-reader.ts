// Reads events of a stream in order, from a position on. Replaces its ordered consumer after a restart of the server.
import { type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { type Event, type EventStream, ServiceError } from '@switchyard/contracts';
import type { Bus } from './bus.ts';
import { readEvent } from './read-event.ts';

/** Events that are fetched ahead of their reader. */
const AHEAD_MAX = 256;
/**
 * While the reader takes none, the client requests as many again every half minute. When more than this wait, they are
 * dropped and read again.
 */
const WAITING_MAX = 2 * AHEAD_MAX;

interface EventReaderOptions {
  readonly stream: EventStream;
  /** Stream subjects that do not overlap. */
  readonly subjects: readonly string[];
  /** Sequence before the first event to read. */
  readonly after: number;
}

interface ReadMessage {
  readonly sequence: number;
  /** Null for a message that is not an event. */
  event(): Event | null;
}

interface EventReader {
  /** Events that were waiting when the reader was opened. */
  readonly pending: number;
  /** Ends after `stop`. @throws ServiceError `service_unavailable` when the stream cannot be read further */
  readonly messages: AsyncIterable<ReadMessage>;
  stop(): void;
}

/** Sequence of the last message of a stream. */
export async function lastSequence(bus: Bus, stream: EventStream): Promise<number> {
  const { state } = await bus.jsm.streams.info(stream);
  return state.last_seq;
}

/** @throws ServiceError `service_unavailable` */
export async function openEventReader(bus: Bus, options: EventReaderOptions): Promise<EventReader> {
  let current = await consumeFrom(bus, options);
  const { pending } = current;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    current.stop();
  };
  async function* read(): AsyncGenerator<ReadMessage> {
    let { after } = options;
    try {
      while (!isStopped) {
        for await (const message of current.messages) {
          after = message.seq;
          yield { sequence: after, event: () => eventIn(message) };
          if (current.messages.getPending() > WAITING_MAX) break;
        }
        current.stop();
        if (!isStopped) current = await consumeFrom(bus, { ...options, after });
      }
    } finally {
      stop();
    }
  }
  return { pending, messages: read(), stop };
}

async function consumeFrom(bus: Bus, options: EventReaderOptions) {
  try {
    return await consume(bus, options);
  } catch (cause) {
    throw new ServiceError('service_unavailable', 'Events cannot be read at the moment. Retry later.', {
      cause,
    });
  }
}

async function consume(bus: Bus, { stream, subjects, after }: EventReaderOptions) {
  const consumer = await bus.js.consumers.get(stream, {
    filter_subjects: [...subjects],
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: after + 1,
  });
  const { num_pending: pending } = await consumer.info(true);
  const messages = await consumer.consume({ max_messages: AHEAD_MAX });
  void endWhenRecreated(messages);
  let isStopped = false;
  const stop = () => {
    messages.stop();
    if (!isStopped) consumer.delete().catch(() => {}); // else NATS keeps it for 5 minutes
    isStopped = true;
  };
  return { pending, messages, stop };
}

/**
 * A consumer that the client recreates, as after a restart of the server, still counts the messages requested from the
 * former one, so it requests only one and is silent for half a minute (@nats-io/jetstream 3.4). Stopping it makes the
 * reader open a new consumer, which is not silent.
 */
async function endWhenRecreated(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'ordered_consumer_recreated') messages.stop();
}

function eventIn(message: JsMsg): Event | null {
  try {
    return readEvent(message);
  } catch {
    return null;
  }
}
