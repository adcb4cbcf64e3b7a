// The layout of billing: the number of partitions, the start of the layout, and a move in progress. It is a document
// beside the ledgers, so that a backup contains both as of the same moment.
import { PARTITION_COUNTS, type PartitionCount } from '@switchyard/contracts';
import { answered } from '../store/answered.ts';
import type { LayoutDocument } from '../store/documents.ts';
import { isDuplicateKeyError } from '../store/mongo-errors.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import type { Store } from '../store/store.ts';
import { fenceId } from './fence.ts';

export type Layout = Readonly<Omit<LayoutDocument, '_id' | 'partitions' | 'moving_to'>> & {
  readonly partitions: PartitionCount;
  /** Target number of partitions of a move in progress; null: no move. */
  readonly moving_to: PartitionCount | null;
};

/** The layout of an installation that was never split. */
export const FIRST_LAYOUT: Layout = { epoch: 0, partitions: 1, ever: 1, from: null, moving_to: null };

const LAYOUT = 'layout';

/** This release does not know the layout in the database. */
export class UnknownLayout extends Error {}

/** Another process has changed the layout or is changing it: nothing may be booked under the former one. */
export class LayoutMoved extends Error {}

/**
 * Reads the current layout.
 * @throws UnknownLayout for the layout of a later release, and when the ledger is ahead of the layout: the wrong layout
 * would book an org in two places and read its budget from one. DatabaseSilent, and the driver's errors
 */
export async function readLayout(store: Store): Promise<Layout> {
  const layout = await storedLayout(store);
  if (layout.moving_to !== null || !(await hasEnded(store, layout))) return layout;
  const now = await storedLayout(store); // a move may have ended in between
  if (now.epoch === layout.epoch && now.moving_to === null)
    throw new UnknownLayout(
      `the ledger is ahead of layout ${layout.epoch}: restore the collections ledger and layout of one moment`,
    );
  return now;
}

async function storedLayout({ layout }: Store): Promise<Layout> {
  const found = await answered(layout.findOne({ _id: LAYOUT }));
  if (!found) return FIRST_LAYOUT;
  const { _id, partitions, moving_to, ...rest } = found;
  return { ...rest, partitions: known(partitions), moving_to: moving_to === null ? null : known(moving_to) };
}

/** Whether the next layout has begun in the ledger: its fences are written between request and layout. */
async function hasEnded({ ledger }: Store, { epoch }: Layout): Promise<boolean> {
  const _id = fenceId(epoch + 1, FIRST_PARTITION);
  return (await answered(ledger.findOne({ _id }, { projection: { _id: 1 } }))) !== null;
}

/** @throws LayoutMoved when another layout is current or a move is in progress; the errors of `readLayout` */
export async function assertUnmoved(store: Store, { epoch }: Layout): Promise<void> {
  const now = await readLayout(store);
  if (now.epoch !== epoch || now.moving_to !== null)
    throw new LayoutMoved(`billing is being split: layout ${epoch} is no longer current`);
}

/**
 * Requests another number of partitions: all owners stop booking, and any process makes the move.
 * @returns the layout with the request, or the current one if it already has this number
 * @throws Error when a move to another number is in progress; the errors of `readLayout`
 */
export async function askToMove(store: Store, to: PartitionCount): Promise<Layout> {
  for (;;) {
    const layout = await readLayout(store);
    if (layout.moving_to !== null && layout.moving_to !== to)
      throw new Error(`a move to ${layout.moving_to} partitions is in progress: let it end first`);
    if (layout.moving_to === to || layout.partitions === to) return layout;
    if (await replaceLayout(store, layout, { ...layout, moving_to: to })) return { ...layout, moving_to: to };
  }
}

/**
 * Replaces a layout that was read before.
 * @returns false when another process has replaced it; then read it again
 */
export async function replaceLayout({ layout }: Store, old: Layout, next: Layout): Promise<boolean> {
  const filter = { _id: LAYOUT, epoch: old.epoch, moving_to: old.moving_to };
  try {
    const written = await answered(layout.replaceOne(filter, next, { upsert: old === FIRST_LAYOUT }));
    return written.matchedCount + written.upsertedCount === 1;
  } catch (error) {
    if (isDuplicateKeyError(error)) return false; // another process has inserted a different layout
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
