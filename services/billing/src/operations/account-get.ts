// account.get: how an org pays, its spending, and its remaining credits.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { creditsOf, spentByOrg } from '../accounts/spent.ts';
import { windowOf } from '../accounts/windows.ts';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { whenComplete } from '../when-complete.ts';

/** @throws ServiceError `service_unavailable` while the sums are being recovered */
export async function accountGet(
  { org }: OperationRequest<'account.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'account.get'>> {
  const { accounts, records, store, clock } = deps;
  const asOf = await catchUp(deps);
  const month = windowOf('month', clock.now());
  // One read between two batches, so that every figure includes the same rows.
  const [credits, spent, spentInMonth] = await whenComplete(deps, () =>
    Promise.all([creditsOf(store, org), spentByOrg(store, org), spentByOrg(store, org, month)]),
  );
  const record = (await records.orgs.get(org))?.value; // the copy in memory may lag for a moment
  const prepaid = record?.billing === 'prepaid';
  return {
    object: 'account',
    org,
    billing: record?.billing ?? 'postpaid',
    balance: prepaid ? dollarsToJson(credits - spent) : null,
    credits: dollarsToJson(credits),
    spent: dollarsToJson(spent),
    held: dollarsToJson(accounts.heldBy(org)),
    month: {
      starts_at: new Date(month.start).toISOString(),
      ends_at: new Date(month.end).toISOString(),
      spent: dollarsToJson(spentInMonth),
      limit: prepaid ? null : (record?.monthly_limit ?? null),
    },
    as_of: asOf.toISOString(),
  };
}
