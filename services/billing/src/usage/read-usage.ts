// The figures of a range: each part of it read from where it is kept, and added up.
import type { UsageReport } from '@switchyard/contracts';
import type { Store } from '../store/store.ts';
import type { UsageRange } from './range.ts';
import { readSegment } from './read-segment.ts';
import { segmentsOf } from './segments.ts';
import { Tally } from './tally.ts';

/** @throws ServiceError `invalid_request` when the range holds too much for one answer. */
export async function readUsage(
  store: Store,
  org: string,
  range: UsageRange,
): Promise<Pick<UsageReport, 'total' | 'data'>> {
  const tally = new Tally(range);
  const family = range.only?.group ?? range.groupBy ?? 'total';
  const value = range.only?.value;
  for (const segment of segmentsOf(range))
    for await (const point of readSegment({ store, org, family, value, segment })) tally.add(point);
  return tally.rows();
}
