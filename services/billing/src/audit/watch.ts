// The continuous check of the books: every few seconds, what has come since the last look. Cheap and bounded where
// `npm run audit` is complete; what it finds is an alarm in the log and a metric.
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { type Clock, type Logger, passed, remember } from '@switchyard/service';
import type { StillPoint } from '../accounts/still-point.ts';
import { LedgerOrder } from '../partitions/ledger-order.ts';
import type { Partition } from '../partitions/partition.ts';
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import { logsCompleteFrom } from '../store/log-retention.ts';
import type { Store } from '../store/store.ts';
import { inBatches } from './batches.ts';
import { Findings } from './drift.ts';
import { checkNewEvents } from './new-events.ts';
import { driftOf, type OrgWindow, orgWindow } from './org-window.ts';
import { ReceiptsWatch } from './receipts-watch.ts';

/** Orgs of one look; the others are looked at next time. */
const ORGS_PER_LOOK_MAX = 50;
/** Orgs whose last look is remembered. */
const ORGS_REMEMBERED_MAX = 10_000;
/** Ledger numbers that the first look counts, from the end. */
const NUMBERS_FIRST_MAX = 100_000;
/** Counting them, at the first look. */
const COUNT_MS_MAX = 60_000;
/** What seems wrong may be on its way, as after a batch that failed half-way: it is looked at again. */
const LOOKS_MAX = 5;
const BETWEEN_LOOKS_MS = 500;

export interface WatchOptions {
  readonly bus: Bus;
  readonly store: Store;
  /** Whose events, numbers and orgs are looked at. */
  readonly partition: Partition;
  /** Where booking and reading take turns. */
  readonly still: StillPoint;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two looks; 0: none, but those that are asked for. */
  readonly everyMs: number;
}

export interface OrgCheck {
  readonly checkedAt: Date;
  /** Null: it has too many rows for a look between two batches. */
  readonly window: OrgWindow | null;
  /** Nano-dollars. */
  readonly drift: bigint;
}

/** What is known by now. */
export interface WatchState {
  checkedAt: Date | null;
  /** Ledger numbers looked at have no gap. */
  gapless: boolean;
  /** Events that are in the stream and not booked yet. */
  eventsWaiting: number;
  /** Things of the last look that were wrong: rows, events, answers, gaps; orgs not included. */
  wrong: number;
  /** The last ledger number. */
  last: bigint;
}

export class BooksWatch {
  readonly #on: WatchOptions;
  readonly #orgs = new Map<string, OrgCheck>();
  readonly #touched = new Set<string>();
  #seq: number | null = null;
  #order: LedgerOrder | null = null;
  #counted: bigint | null = null;
  /** Answers that said what they cost. */
  readonly answers: ReceiptsWatch;
  readonly state: WatchState = { checkedAt: null, gapless: true, eventsWaiting: 0, wrong: 0, last: 0n };

  constructor(on: WatchOptions) {
    this.#on = on;
    const { bus, store, partition } = on;
    this.answers = new ReceiptsWatch({ bus, store, hasOrg: (org) => partition.hasOrg(org) });
  }

  /** Rows were booked: their orgs are looked at next. */
  booked(rows: readonly LedgerRow[]): void {
    for (const { org } of rows) this.#touched.add(org);
  }

  /** The name of the partition that is looked at. */
  get partition(): string {
    return this.#on.partition.name;
  }

  /** Nano-dollars of all orgs that were looked at. */
  get drift(): bigint {
    let sum = 0n;
    for (const { drift } of this.#orgs.values()) sum += drift;
    return sum;
  }

  /** Looks every `everyMs` until the signal is aborted. Never throws: what cannot be looked at now is later. */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, logger } = this.#on;
    while (everyMs > 0 && !signal.aborted) {
      await passed(everyMs, this.#on.clock, signal);
      if (signal.aborted) return;
      await this.look(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'the books could not be looked at; they are later');
      });
    }
  }

  /** One look at all that has come since the last one. */
  async look(signal?: AbortSignal): Promise<void> {
    const { bus, store, partition, clock, logger } = this.#on;
    const findings = new Findings();
    this.#order ??= await LedgerOrder.read(store, partition.layout);
    const events = { bus, store, partition, order: this.#order, findings };
    const { seq, waiting } = await checkNewEvents(events, this.#seq ?? 0);
    await this.answers.look(findings, (last) => this.#isBooked(last));
    await this.#countNumbers(findings);
    const orgs = [...this.#touched].slice(0, ORGS_PER_LOOK_MAX);
    for (const org of orgs) {
      if (signal?.aborted) return;
      this.#touched.delete(org);
      await this.#checkOrg(org).catch((error: unknown) => {
        this.#touched.add(org);
        throw error;
      });
    }
    this.#seq = seq;
    Object.assign(this.state, {
      ...{ checkedAt: new Date(clock.now()), eventsWaiting: waiting, wrong: findings.count },
    });
    for (const drift of findings.named)
      logger.error({ alarm: 'books_differ', ...drift }, 'the books do not agree: see docs/money.md');
  }

  /** The last look at an org; a new one where that is older than the time between two looks. */
  async org(org: string): Promise<OrgCheck> {
    const { clock, everyMs } = this.#on;
    const before = this.#orgs.get(org);
    if (before && clock.now() - before.checkedAt.getTime() < Math.max(everyMs, BETWEEN_LOOKS_MS))
      return before;
    return this.#checkOrg(org);
  }

  async #checkOrg(org: string): Promise<OrgCheck> {
    const { store, still, clock, logger } = this.#on;
    const logsFrom = await logsCompleteFrom(store);
    let window: OrgWindow | null = null;
    let drift = 0n;
    for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
      window = await still.run(() => orgWindow(store, org, clock.now(), logsFrom));
      drift = window ? driftOf(window) : 0n;
      if (drift === 0n) break;
      await passed(BETWEEN_LOOKS_MS, this.#on.clock);
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

  /** Whether every event up to a sequence is in the ledger; it may be on its way. */
  async #isBooked(seq: number): Promise<boolean> {
    const { bus, partition } = this.#on;
    for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
      const info = await bus.jsm.consumers.info(EVENTS_STREAM, partition.consumer);
      const isIdle = info.num_pending === 0 && info.num_ack_pending === 0;
      if (isIdle || info.ack_floor.stream_seq >= seq) return true;
      await passed(BETWEEN_LOOKS_MS, this.#on.clock);
    }
    return false;
  }

  /** The numbers since the last look, without a gap. */
  async #countNumbers(findings: Findings): Promise<void> {
    const { store, partition } = this.#on;
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

  /** Read one by one: the stand-in counts by reading all of a collection. */
  async #countOf(above: bigint, upTo: bigint): Promise<bigint> {
    const { store, partition } = this.#on;
    const range = { p: partition.name, n: { $gt: above, $lte: upTo } };
    let count = 0n;
    for await (const rows of inBatches(store.ledger.find(range, { projection: { _id: 0, n: 1 } })))
      count += BigInt(rows.length);
    return count;
  }
}
