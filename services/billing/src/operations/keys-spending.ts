// keys.spending: the spending of a key in the current interval of its limit, up to the last answered call, and its time
// of last use.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { spentByKey } from '../accounts/spent.ts';
import { windowOf } from '../accounts/windows.ts';
import { catchUp } from '../catch-up.ts';
import { namesEver } from '../partitions/partition.ts';
import type { BillingDeps } from '../register.ts';
import type { Store } from '../store/store.ts';
import { whenComplete } from '../when-complete.ts';

/** @throws ServiceError `service_unavailable` while the sums are being recovered */
export async function keysSpending(
  { org, id }: OperationRequest<'keys.spending'>,
  deps: BillingDeps,
): Promise<OperationResponse<'keys.spending'>> {
  const { accounts, records, store, partition, clock } = deps;
  const partitions = namesEver(partition.layout);
  await catchUp(deps);
  const interval = records.keyRecord(org, id)?.limit?.interval ?? 'month';
  const window = windowOf(interval, clock.now());
  const [spent, lastUsed] = await Promise.all([
    whenComplete(deps, () => spentByKey({ store, partitions }, org, id, window)),
    lastUse(store, org, id),
  ]);
  return {
    spent: dollarsToJson(spent),
    held: dollarsToJson(accounts.heldBy(org, id)),
    window: {
      starts_at: new Date(window.start).toISOString(),
      ends_at: new Date(window.end).toISOString(),
    },
    last_used_at: lastUsed?.toISOString() ?? null,
  };
}

/** A refund names the key of its charge, which did not ask for it. */
async function lastUse({ logs }: Store, org: string, key: string): Promise<Date | null> {
  const row = await logs.findOne(
    { org, key, kind: { $ne: 'refund' } },
    { sort: { at: -1, _id: -1 }, projection: { at: 1 } },
  );
  return row?.at ?? null;
}
