// What the ledger says was spent and granted, read from its aggregates. It is exact for as long as nothing is booked
// while it is read: the caller sees to that.
import { answered } from '../store/answered.ts';
import { bucketId, DAY_MS } from '../store/buckets.ts';
import type { Store } from '../store/store.ts';
import type { Window } from './budget.ts';

/** Nano-dollars that an org has spent in whole days of UTC; all that it ever spent without a window. */
export async function spentByOrg({ aggregates }: Store, org: string, window?: Window): Promise<bigint> {
  const start = window && { start: { $gte: new Date(window.start), $lt: new Date(window.end) } };
  const days = aggregates.days.find({ org, family: 'total', ...start }, { projection: { cost: 1 } });
  return sum((await answered(days.toArray())).map(({ cost }) => cost));
}

/** Nano-dollars that a key has spent in whole days of UTC, in all partitions in which its org may have been. */
export async function spentByKey(
  { store, partitions }: { store: Store; partitions: readonly string[] },
  org: string,
  key: string,
  window: Window,
): Promise<bigint> {
  const ids: string[] = [];
  for (let day = window.start; day < window.end; day += DAY_MS)
    for (const partition of partitions) ids.push(bucketId(partition, org, new Date(day), 'key', key));
  const days = store.aggregates.days.find({ _id: { $in: ids } }, { projection: { cost: 1 } });
  return sum((await answered(days.toArray())).map(({ cost }) => cost));
}

/** Nano-dollars of all credits that an org ever got. */
export async function creditsOf({ ledger }: Store, org: string): Promise<bigint> {
  const rows = ledger.find({ 'credit.org': org }, { projection: { credit: 1 } });
  return sum((await answered(rows.toArray())).map(({ credit }) => credit?.amount ?? 0n));
}

/** Which of these events the ledger has. */
export async function bookedAmong({ ledger }: Store, events: readonly string[]): Promise<string[]> {
  if (events.length === 0) return [];
  const rows = ledger.find({ _id: { $in: [...events] } }, { projection: { _id: 1 } });
  return (await answered(rows.toArray())).map(({ _id }) => _id);
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, one) => total + one, 0n);
}
