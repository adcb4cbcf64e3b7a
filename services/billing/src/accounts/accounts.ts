// The budgets of orgs and keys: read from the ledger when first asked for, then kept in step with every row that is
// booked. What limits a call is looked up in the records of its org and key, in memory.

import { type KeyRecord, type LimitInterval, type OrgRecord, ServiceError } from '@switchyard/contracts';
import { formatDollars, parseDollars } from '@switchyard/money';
import type { Clock } from '@switchyard/service';
import type { Progress } from '../progress.ts';
import type { LedgerRow } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import { whenWhole } from '../when-whole.ts';
import { Budget, type Window } from './budget.ts';
import { HoldDesk, type Limit } from './hold-desk.ts';
import { bookedAmong, creditsOf, spentByKey, spentByOrg } from './spent.ts';
import { StillPoint } from './still-point.ts';
import { ALL_OF_TIME, windowOf } from './windows.ts';

export interface AccountsOptions {
  readonly store: Store;
  /** All whose aggregates an org may be in. */
  readonly partitions: readonly string[];
  /** Null for an org that has no record. */
  readonly orgRecord: (org: string) => OrgRecord | null;
  /** Null for a key that is gone, or was made a moment ago. */
  readonly keyRecord: (org: string, keyId: string) => KeyRecord | null;
  /** Resolves when `keyRecord` knows the keys that there were when it was called. */
  readonly keysCaughtUp: () => Promise<unknown>;
  /** What was spent is read only of sums that have every row of the ledger. */
  readonly progress: Progress;
  readonly clock: Clock;
}

/** What a budget was made from; another text: it has to be made anew. */
interface Kept {
  readonly terms: string;
  readonly budget: Budget;
}

/** What limits an org or a key: the amount, null where the credits are the amount, and the window in which it counts. */
interface Terms {
  readonly text: string;
  readonly limit: bigint | null;
  readonly windowAt: (time: number) => Window;
  readonly spent: (window: Window) => Promise<bigint>;
  readonly refusal: (budget: Budget) => ServiceError;
}

export class Accounts {
  readonly desk: HoldDesk;
  /** Booking and reading take turns here. */
  readonly still = new StillPoint();
  readonly #on: AccountsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #stale = new Set<string>();

  constructor(on: AccountsOptions) {
    this.#on = on;
    this.desk = new HoldDesk(on.clock);
  }

  /**
   * The limits that a call of this key falls under, from the key's first call on; none: it may spend what it likes.
   * @throws ServiceError `service_unavailable` when a budget is to be read, and the sums are not whole in time, or a key is not
   *   known, and the store of keys is away
   */
  async limitsOf(org: string, keyId: string): Promise<Limit[]> {
    const { orgRecord, keyRecord, keysCaughtUp } = this.#on;
    const limits: Limit[] = [];
    const orgTerms = this.#orgTerms(org, orgRecord(org));
    if (orgTerms) limits.push(await this.#limit(org, org, orgTerms));
    if (!keyRecord(org, keyId)) await keysCaughtUp();
    const keyTerms = this.#keyTerms(org, keyId, keyRecord(org, keyId));
    if (keyTerms) limits.push(await this.#limit(org, `${org}/${keyId}`, keyTerms));
    return limits;
  }

  /** Nano-dollars that running calls of an org may still cost; 0 where nothing limits it. */
  heldBy(org: string): bigint {
    return this.#kept.get(org)?.budget.held ?? 0n;
  }

  /** The same of a key. */
  heldByKey(org: string, keyId: string): bigint {
    return this.#kept.get(`${org}/${keyId}`)?.budget.held ?? 0n;
  }

  /** The interval in which a key's spending counts: that of its limit, else the month. */
  intervalOf(org: string, keyId: string): LimitInterval {
    return this.#on.keyRecord(org, keyId)?.limit?.interval ?? 'month';
  }

  /** Rows were booked, at a still point. */
  booked(rows: readonly LedgerRow[]): void {
    for (const { _id, org, key, cost, at, credit } of rows) {
      const budget = this.#kept.get(org)?.budget;
      if (credit && budget && this.#on.orgRecord(org)?.billing === 'prepaid')
        budget.setLimit(budget.limit + credit.amount);
      for (const one of [budget, key === null ? undefined : this.#kept.get(`${org}/${key}`)?.budget])
        one?.booked(_id, cost, at.getTime());
      this.desk.booked(_id, org);
    }
  }

  /** What was booked is not known any more (a batch failed half-way): everything is read anew before it is used. */
  forget(): void {
    for (const name of this.#kept.keys()) this.#stale.add(name);
  }

  async #limit(org: string, name: string, terms: Terms): Promise<Limit> {
    const kept = this.#kept.get(name);
    if (kept && kept.terms === terms.text && !this.#stale.has(name))
      return { budget: kept.budget, refusal: () => terms.refusal(kept.budget) };
    const { store, progress, clock } = this.#on;
    return whenWhole({ accounts: this, progress, clock }, async () => {
      const window = terms.windowAt(clock.now());
      const spent = await terms.spent(window);
      const limit = terms.limit ?? (await creditsOf(store, org));
      const current = { limit, spent, windowAt: terms.windowAt, now: clock.now() };
      const budget = this.#kept.get(name)?.budget ?? new Budget(current);
      for (const event of await bookedAmong(store, budget.settledEvents)) budget.unsettle(event);
      budget.redefine(current);
      this.#kept.set(name, { terms: terms.text, budget });
      this.#stale.delete(name);
      this.desk.changed(org);
      return { budget, refusal: () => terms.refusal(budget) };
    });
  }

  #orgTerms(org: string, record: OrgRecord | null): Terms | null {
    const { store } = this.#on;
    if (record?.billing === 'prepaid')
      return {
        text: 'prepaid',
        limit: null,
        windowAt: () => ALL_OF_TIME,
        spent: () => spentByOrg(store, org),
        refusal: ({ limit, spent }) =>
          new ServiceError(
            'insufficient_funds',
            `the credits do not cover this call: $${formatDollars(limit - spent)} are left; POST /v1/credits adds some`,
          ),
      };
    if (!record?.monthly_limit) return null;
    const limit = parseDollars(record.monthly_limit);
    return {
      text: `postpaid ${limit} a month`,
      limit,
      windowAt: (time) => windowOf('month', time),
      spent: (window) => spentByOrg(store, org, window),
      refusal: (budget) => exceeded('the org', 'month', budget),
    };
  }

  #keyTerms(org: string, keyId: string, record: KeyRecord | null): Terms | null {
    if (!record?.limit) return null;
    const { store, partitions } = this.#on;
    const { amount, interval } = record.limit;
    const limit = parseDollars(amount);
    return {
      text: `${limit} a ${interval}`,
      limit,
      windowAt: (time) => windowOf(interval, time),
      spent: (window) => spentByKey({ store, partitions }, org, keyId, window),
      refusal: (budget) => exceeded('this API key', interval, budget),
    };
  }
}

function exceeded(whose: string, interval: string, { limit, spent, window }: Budget): ServiceError {
  const until = new Date(window.end).toISOString();
  const message = `this call does not fit in the limit of ${whose}: $${formatDollars(spent)} of $${formatDollars(limit)} are spent in the ${interval} that ends at ${until}`;
  return new ServiceError('budget_exceeded', message, {
    details: { limit: formatDollars(limit), spent: formatDollars(spent), interval, ends_at: until },
  });
}
