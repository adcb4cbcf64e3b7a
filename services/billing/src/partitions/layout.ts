// How billing is split: into how many partitions, since when, and whether that is being changed. One document of the
// database, beside the ledgers that it is about, so that a backup holds both of the same moment.
import { PARTITION_COUNTS, type PartitionCount } from '@switchyard/contracts';
import { answered } from '../store/answered.ts';
import type { LayoutDocument } from '../store/documents.ts';
import { metDuplicateKey } from '../store/mongo-errors.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import type { Store } from '../store/store.ts';
import { fenceId } from './fence.ts';

export type Layout = Readonly<Omit<LayoutDocument, '_id' | 'partitions' | 'moving_to'>> & {
  readonly partitions: PartitionCount;
  /** Into how many it is being split now; null: into none. */
  readonly moving_to: PartitionCount | null;
};

/** Of an installation whose layout nobody has ever changed. */
export const FIRST_LAYOUT: Layout = { epoch: 0, partitions: 1, ever: 1, from: null, moving_to: null };

const LAYOUT = 'layout';

/** The layout of the database is one that this release does not know. */
export class UnknownLayout extends Error {}

/** Somebody has changed the layout since, or is changing it: nothing may be booked by the former one. */
export class LayoutMoved extends Error {}

/**
 * The layout that holds.
 * @throws UnknownLayout for one of a later release, and where the ledger has gone on behind it: by the wrong one an org
 *   would be booked in two places, and its budget read from one. DatabaseSilent, and the driver's errors
 */
export async function readLayout(store: Store): Promise<Layout> {
  const layout = await storedLayout(store);
  if (layout.moving_to !== null || !(await hasEnded(store, layout))) return layout;
  const now = await storedLayout(store); // it may have been moved in between
  if (now.epoch === layout.epoch && now.moving_to === null)
    throw new UnknownLayout(
      `the ledger has gone on behind layout ${layout.epoch}: restore the collections ledger and layout of one moment`,
    );
  return now;
}

async function storedLayout({ layout }: Store): Promise<Layout> {
  const found = await answered(layout.findOne({ _id: LAYOUT }));
  if (!found) return FIRST_LAYOUT;
  const { _id, partitions, moving_to, ...rest } = found;
  return { ...rest, partitions: known(partitions), moving_to: moving_to === null ? null : known(moving_to) };
}

/** Whether the next layout begins in the ledger: fences come before it, and behind the wish for it. */
async function hasEnded({ ledger }: Store, { epoch }: Layout): Promise<boolean> {
  const _id = fenceId(epoch + 1, FIRST_PARTITION);
  return (await answered(ledger.findOne({ _id }, { projection: { _id: 1 } }))) !== null;
}

/** @throws LayoutMoved when another layout holds by now, or is on its way; and what `readLayout` throws */
export async function assertUnmoved(store: Store, { epoch }: Layout): Promise<void> {
  const now = await readLayout(store);
  if (now.epoch !== epoch || now.moving_to !== null)
    throw new LayoutMoved(`billing is being split anew: layout ${epoch} holds no more`);
}

/**
 * Asks for another number of partitions: whoever books stops, and the move is made by whichever process is there.
 * @returns the layout with the wish in it, or the one that is like that already.
 * @throws Error when a move to another number is under way; and what `readLayout` throws
 */
export async function askToMove(store: Store, to: PartitionCount): Promise<Layout> {
  for (;;) {
    const layout = await readLayout(store);
    if (layout.moving_to !== null && layout.moving_to !== to)
      throw new Error(`a move to ${layout.moving_to} partitions is under way: let it end first`);
    if (layout.moving_to === to || layout.partitions === to) return layout;
    if (await replaceLayout(store, layout, { ...layout, moving_to: to })) return { ...layout, moving_to: to };
  }
}

/**
 * Writes a layout in the place of one that was read.
 * @returns false when that one is no longer there; read it again.
 */
export async function replaceLayout({ layout }: Store, old: Layout, next: Layout): Promise<boolean> {
  const filter = { _id: LAYOUT, epoch: old.epoch, moving_to: old.moving_to };
  try {
    const written = await answered(layout.replaceOne(filter, next, { upsert: old === FIRST_LAYOUT }));
    return written.matchedCount + written.upsertedCount === 1;
  } catch (error) {
    if (metDuplicateKey(error)) return false; // there is one by now, and it is another
    throw error;
  }
}

function known(partitions: number): PartitionCount {
  const count = PARTITION_COUNTS.find((one) => one === partitions);
  if (count === undefined)
    throw new UnknownLayout(
      `the database is split into ${partitions} partitions; this release knows ${PARTITION_COUNTS.join(', ')}`,
    );
  return count;
}
