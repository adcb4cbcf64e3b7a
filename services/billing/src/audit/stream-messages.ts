// Reading a part of a stream from its first message to its last, in batches, by a consumer that is gone afterwards.
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';

/** Messages that are looked at together, and so many more that wait meanwhile: of events, a megabyte or two. */
const MESSAGES_PER_BATCH = 500;
/** A stream that brings nothing for so long is away. */
const SILENCE_MS_MAX = 20_000;

/** The stream, or billing, does not let itself be looked at. */
export class CannotLook extends Error {}

/** Which messages: their sequences, both included. */
export interface Stretch {
  readonly stream: string;
  readonly first: number;
  readonly last: number;
  /** Messages that are looked at together, where they are large; default: 500. */
  readonly perBatch?: number;
}

/**
 * Those messages of the stretch that are there.
 * @throws CannotLook when the stream stops answering; JetStreamError, TimeoutError
 */
export async function* messagesOf(
  bus: Bus,
  { stream, first, last, perBatch = MESSAGES_PER_BATCH }: Stretch,
): AsyncGenerator<JsMsg[]> {
  if (first > last) return;
  const consumer = await bus.js.consumers.get(stream, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(first, 1),
  });
  if ((await consumer.info(true)).num_pending === 0) return;
  const pull = await consumer.consume({ max_messages: perBatch });
  const silent = () => pull.stop();
  let timer = setTimeout(silent, SILENCE_MS_MAX);
  let batch: JsMsg[] = [];
  try {
    for await (const message of pull) {
      clearTimeout(timer);
      if (message.seq <= last) batch.push(message);
      const isLast = message.seq >= last || message.info.pending === 0;
      if (isLast || batch.length === perBatch) {
        yield batch;
        batch = [];
      }
      if (isLast) return;
      timer = setTimeout(silent, SILENCE_MS_MAX);
    }
    throw new CannotLook(`the stream ${stream} has brought nothing for ${SILENCE_MS_MAX / 1_000} s`);
  } finally {
    clearTimeout(timer);
    await pull.close();
    await consumer.delete().catch(() => {}); // it goes by itself when nobody reads it
  }
}
