// The budgets of orgs and keys. A budget is read from the ledger on first use, then updated with every booked row. The
// limits of a call come from the records of its org and key, which are in memory.

import { makersOf, ServiceError } from '@switchyard/contracts';
import { formatDollars } from '@switchyard/money';
import { Lock } from '@switchyard/service';
import type { PartitionDeps } from '../partition-deps.ts';
import type { LedgerRow } from '../store/documents.ts';
import { whenComplete } from '../when-complete.ts';
import { Budget, type Window } from './budget.ts';
import { HoldDesk, type HoldRequest, type Limit } from './hold-desk.ts';
import { limitOfKey, limitOfOrg, type SpendingLimit, spentOf } from './limits.ts';
import type { AccountRecords } from './records.ts';
import { bookedAmong, creditsOf, spentByOrg } from './spent.ts';
import { ALL_OF_TIME, windowOf } from './windows.ts';

interface AccountsDeps extends Pick<PartitionDeps, 'store' | 'progress' | 'clock'> {
  /** All partitions that may hold aggregates of an org. */
  readonly partitions: readonly string[];
  readonly records: Pick<AccountRecords, 'orgRecord' | 'keyRecord' | 'require'>;
}

/** The terms that a budget was built from, as text. When the text changes, the budget is rebuilt. */
interface Kept {
  readonly terms: string;
  readonly budget: Budget;
}

/** The limit of an org or a key: its amount (null: the credits are the amount) and its window. */
interface Terms {
  readonly text: string;
  readonly limit: bigint | null;
  readonly windowAt: (time: number) => Window;
  readonly spent: (window: Window) => Promise<bigint>;
  readonly refusal: (budget: Budget) => ServiceError;
}

/** Terms of an org that pays in advance. */
const PREPAID = 'prepaid';

/** The limit of a revoked key can no longer count what the keys below it spend, so those that are left may spend nothing. */
const REVOKED: Terms = {
  text: 'revoked',
  limit: 0n,
  windowAt: () => ALL_OF_TIME,
  spent: async () => 0n,
  refusal: () =>
    new ServiceError('budget_exceeded', 'The key that made this API key was revoked. Use another key.'),
};

/** Holds whose limits are known, and which the next turn of the lock restores. */
interface KnownRequests {
  readonly requests: HoldRequest[];
  readonly restored: Promise<void>;
}

export class Accounts {
  readonly desk: HoldDesk;
  /** Keeps batches and reads of sums apart. A batch lasts from its first log row to its last sum. */
  readonly lock = new Lock();
  readonly #deps: AccountsDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #stale = new Set<string>();
  readonly #restoring = new Set<Promise<unknown>>();
  #known: KnownRequests | null = null;

  constructor(deps: AccountsDeps) {
    this.#deps = deps;
    this.desk = new HoldDesk(deps.clock);
  }

  /**
   * The limits that apply to a call of this key, from the key's first call on: of its org, of the key itself and of the
   * keys above it. An empty list means unlimited.
   * @throws ServiceError `service_unavailable` when the sums are not whole in time, or the limits may be missing or
   * outdated in memory
   */
  async limitsOf(org: string, keyId: string): Promise<Limit[]> {
    const { records } = this.#deps;
    const makers = makersOf(keyId);
    await records.require(org, [keyId, ...makers]);
    const limits: Limit[] = [];
    const record = records.orgRecord(org);
    const orgTerms =
      record?.billing === 'prepaid' ? this.#prepaid(org) : this.#terms(limitOfOrg(record), 'the org');
    if (orgTerms) limits.push(await this.#limit(org, org, orgTerms));
    const own = records.keyRecord(org, keyId);
    // Computers outlive their key, and with it the keys above it.
    const revoked = own ? REVOKED : null;
    for (const id of makers) {
      const key = records.keyRecord(org, id);
      const terms = key ? this.#terms(limitOfKey(key), `the key ${id} above this API key`) : revoked;
      if (terms) limits.push(await this.#limit(org, `${org}/${id}`, terms));
    }
    const keyTerms = this.#terms(limitOfKey(own), 'this API key');
    if (keyTerms) limits.push(await this.#limit(org, `${org}/${keyId}`, keyTerms));
    return limits;
  }

  /**
   * Restores holds that were granted before, perhaps by an earlier owner: each as soon as its limits are known. Leaves
   * out calls that are in the ledger: their renewal was late, and its hold and settlement would count the cost a second
   * time.
   * @param requests null: there is nothing to restore
   * @throws the first error of a request, after all others are restored
   */
  async restore(requests: readonly Promise<HoldRequest | null>[]): Promise<void> {
    const restoring = Promise.allSettled(requests.map((request) => this.#restore(request)));
    this.#restoring.add(restoring);
    const failed = (await restoring).find((outcome) => outcome.status === 'rejected');
    this.#restoring.delete(restoring);
    if (failed) throw failed.reason;
  }

  /** Resolves when restores in progress have ended. */
  async restored(): Promise<void> {
    await Promise.all(this.#restoring);
  }

  async #restore(asked: Promise<HoldRequest | null>): Promise<void> {
    const request = await asked;
    if (!request || request.limits.length === 0) return;
    this.#known ??= this.#restoreTogether();
    this.#known.requests.push(request);
    await this.#known.restored;
  }

  /** All at once: after a failover thousands of holds are restored between two batches. */
  #restoreTogether(): KnownRequests {
    const requests: HoldRequest[] = [];
    const restored = this.lock.run(async () => {
      this.#known = null; // later ones take the next turn
      const unknown = requests.filter(({ call }) => !this.desk.renewed(call));
      const calls = unknown.map(({ call }) => call); // also the ids of their events
      const booked = new Set(await bookedAmong(this.#deps.store, calls));
      for (const request of unknown) if (!booked.has(request.call)) this.desk.renew(request);
    });
    return { requests, restored };
  }

  /** Nano-dollars held by the running calls of an org, or of one of its keys; 0 without a limit. */
  heldBy(org: string, keyId?: string): bigint {
    return this.#kept.get(keyId === undefined ? org : `${org}/${keyId}`)?.budget.held ?? 0n;
  }

  /** Counts booked rows. Called while no sums are read. */
  booked(rows: readonly LedgerRow[]): void {
    for (const { _id, org, key, cost, at, charged_at, credit } of rows) {
      const kept = this.#kept.get(org);
      const budget = kept?.budget;
      // By the budget's terms: the org may be postpaid now and prepaid again later.
      if (credit && kept?.terms === PREPAID) kept.budget.setLimit(kept.budget.limit + credit.amount);
      const keys = key === null ? [] : [...makersOf(key), key];
      for (const one of [budget, ...keys.map((id) => this.#kept.get(`${org}/${id}`)?.budget)])
        one?.booked(_id, cost, at.getTime(), charged_at?.getTime());
      this.desk.booked(_id, org);
    }
  }

  /** Drops all budgets after a batch failed half-way. Each budget is read from the ledger again on next use. */
  forget(): void {
    for (const name of this.#kept.keys()) this.#stale.add(name);
  }

  async #limit(org: string, name: string, terms: Terms): Promise<Limit> {
    const kept = this.#kept.get(name);
    if (kept && kept.terms === terms.text && !this.#stale.has(name))
      return { budget: kept.budget, refusal: () => terms.refusal(kept.budget) };
    const { store, progress, clock } = this.#deps;
    return whenComplete({ accounts: this, progress, clock }, async () => {
      const now = clock.now(); // for both the window and its spending: it may end while they are read
      const spent = await terms.spent(terms.windowAt(now));
      const limit = terms.limit ?? (await creditsOf(store, org));
      const current = { limit, spent, windowAt: terms.windowAt, now };
      const budget = this.#kept.get(name)?.budget ?? new Budget(current);
      for (const event of await bookedAmong(store, budget.settledEvents)) budget.unsettle(event);
      budget.redefine(current);
      this.#kept.set(name, { terms: terms.text, budget });
      this.#stale.delete(name);
      this.desk.wake(org);
      return { budget, refusal: () => terms.refusal(budget) };
    });
  }

  #prepaid(org: string): Terms {
    return {
      text: PREPAID,
      limit: null,
      windowAt: () => ALL_OF_TIME,
      spent: () => spentByOrg(this.#deps.store, org),
      refusal: ({ limit, spent, held }) =>
        new ServiceError(
          'insufficient_funds',
          `The credits do not cover this call: $${formatDollars(limit - spent)} is left${heldText(', of which ', held)}. Ask the operator to grant credits.`,
        ),
    };
  }

  #terms(limit: SpendingLimit | null, whose: string): Terms | null {
    if (!limit) return null;
    const { amount, interval } = limit;
    return {
      text: `${amount} a ${interval}`,
      limit: amount,
      windowAt: (time) => windowOf(interval, time),
      spent: (window) => spentOf(this.#deps, limit, window),
      refusal: (budget) => exceeded(whose, interval, budget),
    };
  }
}

function exceeded(whose: string, interval: string, { limit, spent, held, window }: Budget): ServiceError {
  const until = new Date(window.end).toISOString();
  const message = `this call does not fit in the limit of ${whose}: $${formatDollars(spent)} of $${formatDollars(limit)} is spent${heldText(' and ', held)} in the ${interval} that ends at ${until}`;
  return new ServiceError('budget_exceeded', message, {
    details: {
      ...{ limit: formatDollars(limit), spent: formatDollars(spent), held: formatDollars(held) },
      ...{ interval, ends_at: until },
    },
  });
}

/** Without it, a limit that running calls and computers use up would look untouched. */
function heldText(before: string, held: bigint): string {
  return held > 0n ? `${before}$${formatDollars(held)} is held for running work` : '';
}
