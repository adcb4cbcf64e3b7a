// Reads a range of a stream in batches, through a temporary consumer.
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';

/** Number of messages per batch; as many again are buffered. For events this is a megabyte or two. */
const MESSAGES_PER_BATCH = 500;
/** A stream that delivers nothing for this long is unavailable. */
const SILENCE_MS_MAX = 20_000;

/** The stream or billing is unavailable, so the audit cannot continue. */
export class AuditFailed extends Error {}

/** A range of sequences, both ends included. */
interface StreamRange {
  readonly stream: string;
  readonly first: number;
  readonly last: number;
  /** Messages per batch, for streams of large messages; default: 500. */
  readonly perBatch?: number;
}

/**
 * The existing messages of the range.
 * @throws AuditFailed when the stream stops answering; JetStreamError, TimeoutError
 */
export async function* messagesOf(
  bus: Bus,
  { stream, first, last, perBatch = MESSAGES_PER_BATCH }: StreamRange,
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
    throw new AuditFailed(`the stream ${stream} delivered nothing for ${SILENCE_MS_MAX / 1_000} s`);
  } finally {
    clearTimeout(timer);
    await pull.close();
    await consumer.delete().catch(() => {}); // the server removes an idle consumer by itself
  }
}

/** Null for a message that is not JSON. */
export function jsonOf(message: JsMsg): unknown {
  try {
    return message.json();
  } catch {
    return null;
  }
}
