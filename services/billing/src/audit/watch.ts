// The continuous check of the books: every few seconds it checks new events, receipts and rows. It is cheap and
// bounded; `npm run audit` is complete. A drift raises an alarm in the log and a metric.
import { EVENTS_STREAM } from '@switchyard/contracts';
import { type Lock, type Repeating, remember, repeat, sleep } from '@switchyard/service';
import { acknowledgedUpTo } from '../consumer.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { LedgerOrder } from '../partitions/ledger-order.ts';
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import { logsCompleteFrom } from '../store/log-retention.ts';
import { DOCUMENTS_PER_BATCH } from './batches.ts';
import { Findings } from './drift.ts';
import { checkNewEvents } from './new-events.ts';
import { driftOf, type OrgWindow, orgWindow } from './org-window.ts';
import { ReceiptsWatch } from './receipts-watch.ts';

/** Maximum number of orgs per check; the next check takes the others. */
const ORGS_PER_CHECK_MAX = 50;
/** Maximum number of orgs whose last check is remembered. */
const ORGS_REMEMBERED_MAX = 10_000;
/** Number of ledger rows that the first check counts, from the end. */
const NUMBERS_FIRST_MAX = 100_000;
/** Time limit for counting them. */
const COUNT_MS_MAX = 60_000;
/** Checks of an apparent drift: it may be in progress, as after a batch that failed half-way. */
const CHECKS_MAX = 5;
const BETWEEN_CHECKS_MS = 500;

interface WatchDeps extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'clock' | 'logger'> {
  /** Keeps booking and reading from overlapping. */
  readonly lock: Lock;
  /** Milliseconds between two checks; 0: only on request. */
  readonly everyMs: number;
}

interface OrgCheck {
  readonly checkedAt: Date;
  /** Null: the org has too many rows for a check between two batches. */
  readonly window: OrgWindow | null;
  /** Nano-dollars. */
  readonly drift: bigint;
}

/** Results so far. */
interface WatchState {
  checkedAt: Date | null;
  /** The checked ledger numbers have no gap. */
  gapless: boolean;
  /** Number of events in the stream that are not booked yet. */
  eventsWaiting: number;
  /** Drifts of the last check: rows, events, answers and gaps, without orgs. */
  wrong: number;
  /** The last ledger number. */
  last: bigint;
}

export class BooksWatch {
  readonly #deps: WatchDeps;
  readonly #orgs = new Map<string, OrgCheck>();
  /** Org -> its check that a request began and that has not ended. */
  readonly #checking = new Map<string, Promise<OrgCheck>>();
  readonly #touched = new Set<string>();
  #seq: number | null = null;
  #order: LedgerOrder | null = null;
  #counted: bigint | null = null;
  /** The check of answers with a cost. */
  readonly answers: ReceiptsWatch;
  readonly state: WatchState = { checkedAt: null, gapless: true, eventsWaiting: 0, wrong: 0, last: 0n };

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    this.answers = new ReceiptsWatch(deps);
  }

  /** Queues the orgs of booked rows for the next check. */
  booked(rows: readonly LedgerRow[]): void {
    for (const { org } of rows) this.#touched.add(org);
  }

  /** Name of the checked partition. */
  get partition(): string {
    return this.#deps.partition.name;
  }

  /** Total drift of all checked orgs, in nano-dollars. */
  get drift(): bigint {
    let sum = 0n;
    for (const { drift } of this.#orgs.values()) sum += drift;
    return sum;
  }

  /** Checks every `everyMs` until it is stopped; the signal also ends a check early. Null: only on request. */
  start(signal: AbortSignal): Repeating | null {
    const { everyMs, clock, logger } = this.#deps;
    const failed = 'the books could not be checked; retrying later';
    return everyMs === 0 ? null : repeat({ everyMs, clock, logger, failed }, () => this.check(signal));
  }

  /** Checks everything since the last check. */
  async check(signal?: AbortSignal): Promise<void> {
    const { bus, store, partition, clock, logger } = this.#deps;
    const findings = new Findings();
    this.#order ??= await LedgerOrder.read(store, partition.layout);
    const events = { bus, store, partition, order: this.#order, findings };
    const { seq, waiting } = await checkNewEvents(events, this.#seq ?? 0);
    await this.answers.check(findings, (last) => this.#isBooked(last));
    await this.#countNumbers(findings);
    try {
      await this.#checkTouched(signal);
    } finally {
      this.#seq = seq;
      Object.assign(this.state, {
        ...{ checkedAt: new Date(clock.now()), eventsWaiting: waiting, wrong: findings.count },
      });
      for (const drift of findings.named)
        logger.error({ alarm: 'books_differ', ...drift }, 'the books do not agree: see docs/money.md');
    }
  }

  /** Stops at an org that cannot be checked, and moves it to the end. */
  async #checkTouched(signal: AbortSignal | undefined): Promise<void> {
    for (const org of [...this.#touched].slice(0, ORGS_PER_CHECK_MAX)) {
      if (signal?.aborted) return;
      this.#touched.delete(org);
      await this.#checkOrg(org).catch((error: unknown) => {
        this.#touched.add(org);
        throw error;
      });
    }
  }

  /**
   * The last check of an org; repeated when it is older than the time between two checks. Concurrent requests share one
   * check: it keeps booking waiting.
   */
  async org(org: string): Promise<OrgCheck> {
    const { clock, everyMs } = this.#deps;
    const before = this.#orgs.get(org);
    if (before && clock.now() - before.checkedAt.getTime() < Math.max(everyMs, BETWEEN_CHECKS_MS))
      return before;
    const checking = this.#checking.get(org) ?? this.#checkOrg(org).finally(() => this.#checking.delete(org));
    this.#checking.set(org, checking);
    return checking;
  }

  async #checkOrg(org: string): Promise<OrgCheck> {
    const { store, lock, clock, logger } = this.#deps;
    const logsFrom = await logsCompleteFrom(store);
    let window: OrgWindow | null = null;
    let drift = 0n;
    for (let checks = 1; checks <= CHECKS_MAX; checks += 1) {
      window = await lock.run(() => orgWindow(store, org, clock.now(), logsFrom));
      drift = window ? driftOf(window) : 0n;
      if (drift === 0n) break;
      await sleep(BETWEEN_CHECKS_MS, this.#deps.clock);
    }
    if (window && drift !== 0n) {
      const { ledger, logs, usage, statementsAhead } = window;
      const sums = {
        ...{ ledger: `${ledger}`, logs: `${logs}`, usage: `${usage}` },
        statements_ahead: `${statementsAhead}`,
      };
      logger.error(
        { alarm: 'books_differ', org, from: window.from, ...sums },
        'the sums of an org do not agree: see docs/money.md',
      );
    }
    const check = { checkedAt: new Date(clock.now()), window, drift };
    remember(this.#orgs, org, check, ORGS_REMEMBERED_MAX);
    return check;
  }

  /** Whether every event up to a sequence is in the ledger; waits for events in progress. */
  async #isBooked(seq: number): Promise<boolean> {
    const { bus, partition } = this.#deps;
    const hasBooked = acknowledgedUpTo(seq);
    for (let checks = 1; checks <= CHECKS_MAX; checks += 1) {
      if (hasBooked(await bus.jsm.consumers.info(EVENTS_STREAM, partition.consumer))) return true;
      await sleep(BETWEEN_CHECKS_MS, this.#deps.clock);
    }
    return false;
  }

  /** Checks the numbers since the last check for gaps. */
  async #countNumbers(findings: Findings): Promise<void> {
    const { store, partition } = this.#deps;
    const { ledger } = store;
    const p = partition.name;
    const end = ledger
      .find({ p }, { projection: { n: 1 } })
      .sort({ n: -1 })
      .limit(1);
    const last = (await answered(end.toArray()))[0]?.n ?? 0n;
    const from = this.#counted ?? (last > NUMBERS_FIRST_MAX ? last - BigInt(NUMBERS_FIRST_MAX) : 0n);
    const missing = last - from - (await answered(this.#countOf(from, last), COUNT_MS_MAX));
    this.state.last = last;
    this.state.gapless = this.state.gapless && missing <= 0n;
    this.#counted = missing <= 0n && last > from ? last : from;
    if (missing > 0n)
      findings.add({
        ...{ kind: 'gap', org: null, subject: `${from + 1n} to ${last}` },
        detail: `${missing} numbers are missing among them`,
      });
  }

  /** Reads rows one by one: the stand-in counts by reading a whole collection. */
  async #countOf(above: bigint, upTo: bigint): Promise<bigint> {
    const { store, partition } = this.#deps;
    const range = { p: partition.name, n: { $gt: above, $lte: upTo } };
    let count = 0n;
    const rows = store.ledger.find(range, { projection: { _id: 0, n: 1 } });
    for await (const _ of rows.batchSize(DOCUMENTS_PER_BATCH)) count += 1n;
    return count;
  }
}
