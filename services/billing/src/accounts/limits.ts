// The limits of spending: the monthly limit of an org that pays afterwards, and the limit of a key.
import type { KeyRecord, LimitInterval, OrgRecord } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import type { Store } from '../store/store.ts';
import type { Window } from './budget.ts';
import { spentByKey, spentByOrg } from './spent.ts';
import { windowOf } from './windows.ts';

export interface SpendingLimit {
  readonly org: string;
  /** Null: the limit of the org. */
  readonly key: string | null;
  readonly interval: LimitInterval;
  /** Nano-dollars. */
  readonly amount: bigint;
}

/** A limit in one of its periods. */
export interface Period {
  readonly limit: SpendingLimit;
  readonly window: Window;
  /** The same for each period of an org or key. */
  readonly name: string;
}

export function limitOfOrg(record: OrgRecord | null): SpendingLimit | null {
  if (record?.billing !== 'postpaid' || record.monthly_limit === null) return null;
  return { org: record.id, key: null, interval: 'month', amount: parseDollars(record.monthly_limit) };
}

export function limitOfKey(record: KeyRecord | null): SpendingLimit | null {
  if (!record?.limit) return null;
  const { amount, interval } = record.limit;
  return { org: record.org, key: record.id, interval, amount: parseDollars(amount) };
}

/** @param time milliseconds since the epoch */
export function periodAt(limit: SpendingLimit, time: number): Period {
  const window = windowOf(limit.interval, time);
  return { limit, window, name: `${limit.org}/${limit.key ?? ''}/${limit.interval}/${window.start}` };
}

/** Nano-dollars in the ledger that count against a limit. */
export function spentOf(
  { store, partitions }: { readonly store: Store; readonly partitions: readonly string[] },
  { org, key }: SpendingLimit,
  window: Window,
): Promise<bigint> {
  return key === null ? spentByOrg(store, org, window) : spentByKey({ store, partitions }, org, key, window);
}
