// The stream of receipts: the costs that edges reported with their answers (contracts/receipts.ts).
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { RECEIPTS_STREAM, RECEIPTS_SUBJECTS } from '@switchyard/contracts';
import type { Bus } from './bus.ts';
import { ensureStream } from './ensure-stream.ts';
import { DUPLICATE_WINDOW_NS, EVENTS_AGE_NS_MAX } from './events.ts';

/** About ten million answers; beyond that, the oldest are discarded. */
const RECEIPTS_BYTES_MAX = 512 * 1024 ** 2;

/** Creates the stream RECEIPTS if missing. Idempotent. */
export function ensureReceiptsStream(bus: Bus): Promise<void> {
  return ensureStream(bus, {
    name: RECEIPTS_STREAM,
    subjects: [RECEIPTS_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: EVENTS_AGE_NS_MAX,
    max_bytes: RECEIPTS_BYTES_MAX,
    duplicate_window: DUPLICATE_WINDOW_NS,
    num_replicas: 1,
  });
}
