// Spending and credits, read from the aggregates of the ledger. The result is exact only if nothing is booked during
// the read; the caller ensures that. A refund counts only in a window that includes its charge: it must not raise the
// limit of a later one.
import type { Filter, FindCursor } from 'mongodb';
import { answered } from '../store/answered.ts';
import { bucketId, DAY_MS } from '../store/buckets.ts';
import type { LedgerRow } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import type { Window } from './budget.ts';

/** Nano-dollars that an org has spent in whole days of UTC; without a window: ever. */
export async function spentByOrg(store: Store, org: string, window?: Window): Promise<bigint> {
  const start = window && { start: { $gte: new Date(window.start), $lt: new Date(window.end) } };
  const days = store.aggregates.days.find({ org, family: 'total', ...start }, { projection: { cost: 1 } });
  const spent = await costOf(days);
  return window ? spent - (await refundsOfEarlier(store, { org }, window)) : spent;
}

/** The separator between a key's id and the rest of the id of a key below it, and the next character after it. */
const [BELOW, AFTER_BELOW] = ['_', '`'];

/** Nano-dollars that a key and the keys below it have spent in whole days of UTC, in every partition the org was in. */
export async function spentByKey(
  { store, partitions }: { store: Store; partitions: readonly string[] },
  org: string,
  key: string,
  window: Window,
): Promise<bigint> {
  const ids: string[] = [];
  for (let day = window.start; day < window.end; day += DAY_MS)
    for (const partition of partitions) ids.push(bucketId(partition, org, new Date(day), 'key', key));
  const below = ids.map((id) => ({ _id: { $gte: id + BELOW, $lt: id + AFTER_BELOW } }));
  const query = { $or: [{ _id: { $in: ids } }, ...below] };
  const days = store.aggregates.days.find(query, { projection: { cost: 1 } });
  const spent = await costOf(days);
  const ofKeys = { org, $or: [{ key }, { key: { $gte: key + BELOW, $lt: key + AFTER_BELOW } }] };
  return spent - (await refundsOfEarlier(store, ofKeys, window));
}

/** Nano-dollars, not above 0, of the refunds in a window whose charges were before it. */
async function refundsOfEarlier(
  { ledger }: Store,
  whose: Filter<LedgerRow>,
  { start, end }: Window,
): Promise<bigint> {
  const [from, to] = [new Date(start), new Date(end)];
  const earlier = { ...whose, at: { $gte: from, $lt: to }, charged_at: { $lt: from } };
  return costOf(ledger.find(earlier, { projection: { cost: 1 } }));
}

/** Nano-dollars of all credits ever granted to an org. */
export async function creditsOf({ ledger }: Store, org: string): Promise<bigint> {
  const rows = ledger.find({ 'credit.org': org }, { projection: { credit: 1 } });
  return sum((await answered(rows.toArray())).map(({ credit }) => credit?.amount ?? 0n));
}

/** Returns those of the events that are in the ledger. */
export async function bookedAmong({ ledger }: Store, events: readonly string[]): Promise<string[]> {
  if (events.length === 0) return [];
  const rows = ledger.find({ _id: { $in: [...events] } }, { projection: { _id: 1 } });
  return (await answered(rows.toArray())).map(({ _id }) => _id);
}

async function costOf(found: FindCursor<{ cost: bigint }>): Promise<bigint> {
  return sum((await answered(found.toArray())).map(({ cost }) => cost));
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, one) => total + one, 0n);
}
