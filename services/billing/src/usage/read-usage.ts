// The figures of a range: reads each part from its source and adds them up.
import type { UsageReport } from '@switchyard/contracts';
import type { Store } from '../store/store.ts';
import type { UsageRange } from './range.ts';
import { readSegments } from './read-segment.ts';
import { segmentsOf } from './segments.ts';
import { Tally } from './tally.ts';

/** @throws ServiceError `invalid_request` when one answer would be too large */
export async function readUsage(
  store: Store,
  org: string,
  range: UsageRange,
): Promise<Pick<UsageReport, 'total' | 'data'>> {
  const tally = new Tally(range);
  const family = range.only?.group ?? range.groupBy ?? 'total';
  const value = range.only?.value;
  const sources = readSegments({ store, org, family, value, segments: segmentsOf(range) });
  await Promise.all(
    sources.map(async (points) => {
      for await (const point of points) tally.add(point);
    }),
  );
  return tally.rows();
}
