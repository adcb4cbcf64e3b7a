// The end of a layout, written into the ledger: a row without an org takes the next number of a partition. A writer
// that still uses the former layout finds this number taken, reads the layout again and stops. So a charge and its
// void, which look for each other, are never booked at the same time in two partitions.
import type { PartitionDeps } from '../partition-deps.ts';
import { bookedPlace } from '../statements/months.ts';
import { answered } from '../store/answered.ts';
import { LedgerWriter } from '../store/ledger-writer.ts';
import { isDuplicateKeyError } from '../store/mongo-errors.ts';
import { newLedgerRow } from '../store/new-rows.ts';

/** Maximum number of times that writers of the former layout may take the next number before the fence does. */
const TRIES_MAX = 100;

/** Id of the fence at which the layout of this epoch begins in a partition. */
export function fenceId(epoch: number, partition: string): string {
  return `fence:${epoch}:${partition}`;
}

interface FenceDeps extends Pick<PartitionDeps, 'store' | 'logger'> {
  readonly partition: string;
  /** Epoch of the layout that begins after the fence. */
  readonly epoch: number;
  readonly now: number;
}

/**
 * Writes the fence where it is missing, and folds the rows that a dead writer left before it.
 * @throws LedgerGap, AnotherWriter, and the driver's errors: then try again
 */
export async function fence({ store, partition, epoch, now, logger }: FenceDeps): Promise<void> {
  const _id = fenceId(epoch, partition);
  for (let tries = 1; !(await answered(store.ledger.findOne({ _id }))); tries += 1)
    try {
      const last = store.ledger.find({ p: partition }).sort({ n: -1 }).limit(1).toArray();
      const n = ((await answered(last))[0]?.n ?? 0n) + 1n;
      const row = newLedgerRow({ _id, kind: 'fence', at: new Date(now), org: '' });
      await answered(store.ledger.insertOne({ ...row, ...bookedPlace(row, now), p: partition, n }));
    } catch (error) {
      if (!isDuplicateKeyError(error) || tries === TRIES_MAX) throw error;
    }
  await new LedgerWriter({ store, partition, logger }).recover();
}
