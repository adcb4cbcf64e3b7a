// usage.get: the usage of an org, in total and by interval and group.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { Locks } from '@switchyard/service';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { isTagGroup, type UsageRange, usageRange } from '../usage/range.ts';
import { readUsage } from '../usage/read-usage.ts';
import { untilComplete } from '../when-complete.ts';

/**
 * @throws ServiceError `invalid_request` for a range that is reversed, too long, or has too much data;
 *   `service_unavailable` while the sums miss rows of the ledger
 */
export async function usageGet(
  { org, query }: OperationRequest<'usage.get'>,
  deps: Pick<BillingDeps, 'bus' | 'partition' | 'progress' | 'store' | 'clock'> & { readonly reports: Locks },
  signal: AbortSignal,
): Promise<OperationResponse<'usage.get'>> {
  const range = usageRange(query, deps.clock.now());
  const asOf = await catchUp(deps);
  await untilComplete(deps);
  const read = () => {
    signal.throwIfAborted();
    return readUsage(deps.store, org, range, signal);
  };
  return {
    object: 'usage',
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    interval: range.interval,
    group_by: range.groupBy,
    tz: range.zone.name,
    as_of: asOf.toISOString(),
    // Up to a million rows, in the process that books: an org gets one such report at a time.
    ...(await (addsUpRows(range) ? deps.reports.run(org, read) : read())),
  };
}

function addsUpRows({ groupBy, interval }: UsageRange): boolean {
  return isTagGroup(groupBy) || interval === 'minute';
}
