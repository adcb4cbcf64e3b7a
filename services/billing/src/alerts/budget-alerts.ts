// Finds the thresholds that spending has reached. It runs after a batch is in the sums and before its messages are
// acknowledged: after a kill the batch is redelivered and looked at again. An alert is a document whose id is the id of
// its event, so it exists once. publish-alerts.ts publishes it.
import {
  BUDGET_THRESHOLDS,
  type Event,
  eventIds,
  keyRecordKey,
  makeEvent,
  makersOf,
} from '@switchyard/contracts';
import {
  limitOfKey,
  limitOfOrg,
  type Period,
  periodAt,
  type SpendingLimit,
  spentOf,
} from '../accounts/limits.ts';
import type { AccountRecords } from '../accounts/records.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { answered } from '../store/answered.ts';
import { HOUR_MS } from '../store/buckets.ts';
import type { BudgetAlert } from '../store/documents.ts';
import type { Entry } from '../store/entries.ts';
import { isDuplicateKeyError } from '../store/mongo-errors.ts';

/** A charge that is booked this long after the end of its period raises no alert. */
const LATE_MS_MAX = 48 * HOUR_MS;
/** Periods whose remaining amount is in memory. */
const PERIODS_MAX = 50_000;
const PERCENT = 100n;
const EVENT_SOURCE = '/switchyard/billing';

export interface BudgetAlertsDeps extends Pick<PartitionDeps, 'store' | 'clock'> {
  /** All partitions that may hold aggregates of an org. */
  readonly partitions: readonly string[];
  readonly records: Pick<AccountRecords, 'orgs' | 'keys' | 'orgRecord' | 'keyRecord'>;
}

/** What may be booked before the next threshold. */
interface Room {
  /** The limit for which it holds. */
  readonly amount: bigint;
  /** Nano-dollars; null: every threshold is reached. */
  left: bigint | null;
}

export class BudgetAlerts {
  readonly #deps: BudgetAlertsDeps;
  /** By the name of a period. It saves reading the sums after each batch. */
  readonly #rooms = new Map<string, Room>();

  constructor(deps: BudgetAlertsDeps) {
    this.#deps = deps;
  }

  /** Call it when another writer may have booked rows. */
  forget(): void {
    this.#rooms.clear();
  }

  /**
   * Stores an alert for each threshold that is reached.
   * @param batch is in the sums, and nothing is booked meanwhile; it may have been looked at before
   * @throws the driver's errors, ServiceError `service_unavailable`: then call it again with the same batch
   */
  async look({ entries, events }: { entries: readonly Entry[]; events: readonly Event[] }): Promise<void> {
    const charged = new Map<string, { period: Period; cost: bigint }>();
    for (const entry of entries) {
      if (entry.what !== 'occurrence' || !entry.row || entry.row.cost <= 0n) continue;
      const { cost, at } = entry.row;
      for (const limit of this.#limitsOn(entry.row)) {
        const period = periodAt(limit, at.getTime());
        const sum = charged.get(period.name) ?? { period, cost: 0n };
        sum.cost += cost;
        charged.set(period.name, sum);
      }
    }
    for (const { period, cost } of charged.values())
      if (!this.#hasRoom(period, cost)) await this.#readAndAlert(period);
    const now = this.#deps.clock.now();
    for (const limit of await this.#changedLimits(events)) await this.#readAndAlert(periodAt(limit, now));
  }

  /** The limits of the org, the key and the keys above it. */
  #limitsOn({ org, key }: { readonly org: string; readonly key: string | null }): SpendingLimit[] {
    const { records } = this.#deps;
    const keys = key === null ? [] : [...makersOf(key), key];
    const limits = [
      limitOfOrg(records.orgRecord(org)),
      ...keys.map((id) => limitOfKey(records.keyRecord(org, id))),
    ];
    return limits.filter((limit) => limit !== null);
  }

  /** The limits that were set or changed, as they are now: a lower one may be reached without another charge. */
  async #changedLimits(events: readonly Event[]): Promise<SpendingLimit[]> {
    const { records } = this.#deps;
    const orgs = new Set<string>();
    const keys = new Set<string>();
    for (const { type, data } of events)
      if (type === 'account.updated') orgs.add(data.org);
      else if ((type === 'key.updated' || type === 'key.created') && 'key_id' in data && data.key_id !== null)
        keys.add(keyRecordKey(data.org, data.key_id));
    // From the buckets: memory may lag behind the event. An unreadable record has no limit, as in memory.
    const changedOrgs = await records.orgs.entriesOf([...orgs]);
    const changedKeys = await records.keys.entriesOf([...keys]);
    const found = [
      ...[...changedOrgs.values()].map((entry) => limitOfOrg(entry?.value ?? null)),
      ...[...changedKeys.values()].map((entry) => limitOfKey(entry?.value ?? null)),
    ];
    return found.filter((limit) => limit !== null);
  }

  /** Whether the period certainly has a threshold ahead after this cost. A cost that is seen twice counts twice. */
  #hasRoom({ name, limit }: Period, cost: bigint): boolean {
    const room = this.#rooms.get(name);
    if (room?.amount !== limit.amount) return false;
    if (room.left === null) return true;
    room.left -= cost;
    return room.left > 0n;
  }

  async #readAndAlert(period: Period): Promise<void> {
    const { limit, window, name } = period;
    const now = this.#deps.clock.now();
    if (window.end + LATE_MS_MAX <= now) return;
    const spent = await spentOf(this.#deps, limit, window);
    const needed = (percent: number) => ceilDiv(limit.amount * BigInt(percent), PERCENT);
    const reached = BUDGET_THRESHOLDS.filter((percent) => spent >= needed(percent));
    await this.#store(reached.map((threshold) => alertOf(period, { threshold, spent, now })));
    const next = BUDGET_THRESHOLDS.find((percent) => spent < needed(percent));
    if (this.#rooms.size >= PERIODS_MAX) this.#rooms.clear();
    this.#rooms.set(name, { amount: limit.amount, left: next === undefined ? null : needed(next) - spent });
  }

  /** An alert that exists stays as it is. */
  async #store(alerts: BudgetAlert[]): Promise<void> {
    for (const alert of alerts)
      await answered(this.#deps.store.alerts.insertOne(alert)).catch((error: unknown) => {
        if (!isDuplicateKeyError(error)) throw error;
      });
  }
}

interface Reached {
  readonly threshold: (typeof BUDGET_THRESHOLDS)[number];
  readonly spent: bigint;
  readonly now: number;
}

function alertOf({ limit, window }: Period, { threshold, spent, now }: Reached): BudgetAlert {
  const { org, key, interval, amount } = limit;
  const [startsAt, endsAt] = [new Date(window.start), new Date(window.end)];
  const id = eventIds.budgetThreshold({ budget: key ?? org, interval, startsAt, threshold });
  const event = makeEvent({
    ...{ name: 'budget.threshold', id, source: EVENT_SOURCE, time: new Date(now) },
    data: {
      ...{ org, key_id: key, threshold, interval },
      ...{ starts_at: startsAt.toISOString(), ends_at: endsAt.toISOString() },
      ...{ limit_nano: amount.toString(), spent_nano: spent.toString() },
    },
  });
  return { _id: id, org, ends_at: endsAt, event, published_at: null };
}

function ceilDiv(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
