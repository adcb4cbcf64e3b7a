// The figures of a range by the values of one tag. Callers invent tags, so no sums are kept by tag: the ledger's rows
// are added up.
import type { TagGroup } from '@switchyard/contracts';
import type { Store } from '../store/store.ts';
import type { UsageRange } from './range.ts';
import { readLedger } from './read-ledger.ts';
import type { Point } from './tally.ts';

/** @throws ServiceError `invalid_request` when the range has too many ledger rows */
export async function* readByTag(
  store: Store,
  org: string,
  { from, to, only }: UsageRange,
  { groupBy, signal }: { groupBy: TagGroup; signal: AbortSignal | undefined },
): AsyncGenerator<Point> {
  const prefix = `${groupBy.slice('tag:'.length)}:`;
  const filter = only ? { [only.group]: only.value } : {};
  for await (const row of readLedger(store, { org, from, to, only: filter, field: 'tags', signal })) {
    const pair = row.tags?.find((one) => one.startsWith(prefix));
    yield { at: row.at.getTime(), group: pair?.slice(prefix.length) ?? null, amounts: row };
  }
}
