// Adding rows to documents that sum them, each row once to each, whoever else is at it and however often it is repeated:
// each document names the last row that it holds, and an update that finds another name there does not happen.
import type { AnyBulkWriteOperation, Collection, UpdateFilter } from 'mongodb';
import { AnotherWriter, metDuplicateKey } from './mongo-errors.ts';
import type { Share } from './row-groups.ts';

/** Documents of one kind whose last row a writer remembers at the most. */
const FENCES_MAX = 50_000;

/** The last row that each document of one kind holds, by its id. */
export type FenceById = Map<string, bigint>;

/**
 * The last rows as one writer has left them, so that they need not be read again for every batch. Nothing rests on it: an
 * update whose fence is not the one that stands there does not happen. To be dropped when folding throws.
 */
export class Fences {
  readonly hours: FenceById = new Map();
  readonly days: FenceById = new Map();
  readonly lines: FenceById = new Map();
}

interface Summed {
  _id: string;
  n: bigint;
}

export interface FencedFold<S extends Share> {
  /** Of documents that have `_id` and `n`. */
  readonly into: Collection<never>;
  /** By the ids of the documents. */
  readonly shares: ReadonlyMap<string, S>;
  readonly fences: FenceById;
  /** What the rows above the fence do to the document, `n` aside. */
  readonly updateOf: (share: S, fence: bigint) => UpdateFilter<Summed>;
}

/** @throws AnotherWriter when a document moved on between reading and writing: recover, then go on. */
export async function foldFenced<S extends Share>(fold: FencedFold<S>): Promise<void> {
  const { shares, fences, updateOf } = fold;
  if (shares.size === 0) return;
  // The driver's types cannot see through a generic document; the parts used here are the same in all.
  const documents = fold.into as unknown as Collection<Summed>;
  if (fences.size > FENCES_MAX) fences.clear();
  await readFences(documents, [...shares.keys()], fences);
  const updates: AnyBulkWriteOperation<Summed>[] = [];
  const folded: FenceById = new Map();
  for (const [_id, share] of shares) {
    const fence = fences.get(_id) ?? 0n;
    const last = share.lastAbove(fence);
    if (!last) continue;
    const update = { ...updateOf(share, fence), $set: { n: last.n } };
    // Where it is there with another fence, the upsert meets its own `_id`: a duplicate key.
    updates.push({ updateOne: { filter: { _id, n: fence }, update, upsert: true } });
    folded.set(_id, last.n);
  }
  if (updates.length === 0) return;
  const touched = await documents.bulkWrite(updates, { ordered: false }).catch((error: unknown) => {
    if (metDuplicateKey(error)) throw movedOn(documents, error);
    throw error;
  });
  if (touched.matchedCount + touched.upsertedCount !== updates.length) throw movedOn(documents);
  for (const [id, n] of folded) fences.set(id, n);
}

/** Of those that are not known yet. */
async function readFences(documents: Collection<Summed>, ids: readonly string[], fences: FenceById) {
  const unknown = ids.filter((id) => !fences.has(id));
  if (unknown.length === 0) return;
  const found = await documents.find({ _id: { $in: unknown } }, { projection: { n: 1 } }).toArray();
  for (const { _id, n } of found) fences.set(_id, n);
}

function movedOn({ collectionName }: Collection<Summed>, cause?: unknown): AnotherWriter {
  return new AnotherWriter(`one of ${collectionName} was folded by another writer`, cause);
}
