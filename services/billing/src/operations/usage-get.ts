// usage.get: what an org has used, in total and by interval and group.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { usageRange } from '../usage/range.ts';
import { readSegment } from '../usage/read-segment.ts';
import { segmentsOf } from '../usage/segments.ts';
import { Tally } from '../usage/tally.ts';

/** @throws ServiceError `invalid_request` for a range that is upside down, or too long. */
export async function usageGet(
  { org, query }: OperationRequest<'usage.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'usage.get'>> {
  const range = usageRange(query, deps.clock.now());
  const asOf = await catchUp(deps);
  const tally = new Tally(range);
  for (const segment of segmentsOf(range))
    for await (const point of readSegment({
      ...{ store: deps.store, org, segment },
      family: range.groupBy ?? 'total',
    }))
      tally.add(point);
  return {
    object: 'usage',
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    interval: range.interval,
    group_by: range.groupBy,
    as_of: asOf.toISOString(),
    ...tally.rows(),
  };
}
