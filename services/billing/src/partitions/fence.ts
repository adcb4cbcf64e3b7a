// The end of a layout, in the ledger itself: a row of no org takes the next number of a partition. Whoever still books by
// the former layout meets it as another writer, reads the layout anew and stops; so a charge and its void, which look for
// each other, are never booked at the same time in two partitions.
import type { Logger } from '@switchyard/service';
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import { LedgerWriter } from '../store/ledger-writer.ts';
import { metDuplicateKey } from '../store/mongo-errors.ts';
import type { Store } from '../store/store.ts';

/** Writers of the former layout that take the next number first, one after another, before we do. */
const TRIES_MAX = 100;

/** Of the row that stands in a partition where the layout of this epoch begins. */
export function fenceId(epoch: number, partition: string): string {
  return `fence:${epoch}:${partition}`;
}

export interface FenceOptions {
  readonly store: Store;
  readonly partition: string;
  /** Of the layout that begins behind it. */
  readonly epoch: number;
  readonly now: number;
  readonly logger: Logger;
}

/**
 * Writes the fence where it is missing, and folds what a writer that died has left before it.
 * @throws LedgerGap, AnotherWriter, and the driver's errors: then try again.
 */
export async function fence({ store, partition, epoch, now, logger }: FenceOptions): Promise<void> {
  const _id = fenceId(epoch, partition);
  for (let tries = 1; !(await answered(store.ledger.findOne({ _id }))); tries += 1)
    try {
      const last = store.ledger.find({ p: partition }).sort({ n: -1 }).limit(1).toArray();
      const n = ((await answered(last))[0]?.n ?? 0n) + 1n;
      await answered(store.ledger.insertOne({ ...blank(now), _id, p: partition, n }));
    } catch (error) {
      if (!metDuplicateKey(error) || tries === TRIES_MAX) throw error;
    }
  await new LedgerWriter({ store, partition, logger }).recover();
}

function blank(now: number): Omit<LedgerRow, '_id' | 'p' | 'n'> {
  const nothing = { key: null, type: null, model: null, maker: null, computer: null };
  return { kind: 'fence', at: new Date(now), org: '', ...nothing, calls: 0n, cost: 0n, quantities: {} };
}
