// One page of a list: newest first, starting below the row that the cursor names.
import { afterOf, type ListQuery, limitOf, unknownCursor } from '@switchyard/contracts';
import type { Collection, Filter } from 'mongodb';

interface Timed {
  readonly _id: string;
  readonly at: Date;
}

interface Rows<R> {
  /** The rows of the list. They have no `$or`, which the cursor adds. */
  readonly filter: Filter<R>;
  /** The rows that the cursor may name. */
  readonly scope: Filter<R>;
}

export interface Page<R> {
  readonly rows: R[];
  readonly hasMore: boolean;
}

/** @throws ServiceError `invalid_request` for an unknown cursor */
export async function readPage<R extends Timed>(
  collection: Collection<R>,
  { filter, scope }: Rows<R>,
  query: ListQuery,
): Promise<Page<R>> {
  const limit = limitOf(query);
  const after = afterOf(query);
  const last = after === undefined ? null : await collection.findOne({ ...scope, _id: after } as Filter<R>);
  if (after !== undefined && !last) throw unknownCursor();
  const older = last && { $or: [{ at: { $lt: last.at } }, { at: last.at, _id: { $lt: last._id } }] };
  const rows = await collection
    .find({ ...filter, ...older } as Filter<R>)
    .sort({ at: -1, _id: -1 })
    .limit(limit + 1)
    .toArray();
  return { rows: rows.slice(0, limit) as R[], hasMore: rows.length > limit };
}
