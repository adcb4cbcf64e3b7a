// usage.get: the usage of an org, in total and by interval and group.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { usageRange } from '../usage/range.ts';
import { readUsage } from '../usage/read-usage.ts';
import { untilComplete } from '../when-complete.ts';

/**
 * @throws ServiceError `invalid_request` for a range that is reversed, too long, or has too much data;
 *   `service_unavailable` while the sums miss rows of the ledger
 */
export async function usageGet(
  { org, query }: OperationRequest<'usage.get'>,
  deps: BillingDeps,
  signal: AbortSignal,
): Promise<OperationResponse<'usage.get'>> {
  const range = usageRange(query, deps.clock.now());
  const asOf = await catchUp(deps);
  await untilComplete(deps);
  return {
    object: 'usage',
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    interval: range.interval,
    group_by: range.groupBy,
    tz: range.zone.name,
    as_of: asOf.toISOString(),
    ...(await readUsage(deps.store, org, range, signal)),
  };
}
