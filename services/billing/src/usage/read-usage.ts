// The figures of a range: reads each part from its source and adds them up.
import type { UsageReport } from '@switchyard/contracts';
import type { Store } from '../store/store.ts';
import { isTagGroup, type UsageRange } from './range.ts';
import { readByTag } from './read-by-tag.ts';
import { readSegments } from './read-segment.ts';
import { segmentsOf } from './segments.ts';
import { Tally } from './tally.ts';

/** @throws ServiceError `invalid_request` when one answer would be too large; the reason of the signal */
export async function readUsage(
  store: Store,
  org: string,
  range: UsageRange,
  signal?: AbortSignal,
): Promise<Pick<UsageReport, 'total' | 'data'>> {
  const tally = new Tally(range);
  const sources = isTagGroup(range.groupBy)
    ? [readByTag(store, org, range, { groupBy: range.groupBy, signal })]
    : readSegments({
        ...{ store, org, signal, segments: segmentsOf(range), value: range.only?.value },
        family: range.only?.group ?? range.groupBy ?? 'total',
      });
  await Promise.all(
    sources.map(async (points) => {
      for await (const point of points) tally.add(point);
    }),
  );
  return tally.rows();
}
