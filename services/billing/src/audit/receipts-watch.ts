// The continuous check of answers. Reads the receipts since the last check, and looks each one up once the events that
// were in the stream at that time are booked. Bounded: only the newest are checked; `npm run audit` checks all.
import { EVENTS_STREAM } from '@switchyard/contracts';
import { remember } from '@switchyard/service';
import type { PartitionDeps } from '../partition-deps.ts';
import type { Findings } from './drift.ts';
import {
  type Faulty,
  faultyAmong,
  lastReceipts,
  type Receipt,
  receiptMessages,
  receiptsOf,
} from './receipts-check.ts';

/** Maximum number of receipts per check. */
export const RECEIPTS_PER_CHECK_MAX = 20_000;
/** Maximum number of batches per check: each edge sends one per second. */
export const BATCHES_PER_CHECK_MAX = 1_200;
/** Answers missing in the ledger that are looked up again at each check until they are booked. */
const FAULTY_MAX = 1_000;
/** Maximum number of orgs whose answers are counted. */
const ORGS_REMEMBERED_MAX = 10_000;

type ReceiptsWatchDeps = Pick<PartitionDeps, 'bus' | 'store'> & {
  /** Receipts of other partitions are skipped: their owners check them. */
  readonly partition: Pick<PartitionDeps['partition'], 'hasOrg'>;
};

/** State of an org's answers. */
interface AnswersCheck {
  /** Answers looked up since this owner started. */
  readonly compared: number;
  /** Answers that currently do not match the ledger. */
  readonly wrong: number;
}

export class ReceiptsWatch {
  readonly #deps: ReceiptsWatchDeps;
  /** The last batch that was read. */
  #seq: number | null = null;
  /** Receipts that wait until the events up to `eventsSeq` are booked. */
  #due: { readonly receipts: readonly Receipt[]; readonly eventsSeq: number } | null = null;
  /** Missing once and not counted yet: a video's charge may still be in an outbox. */
  #suspects: Receipt[] = [];
  #faulty: Faulty[] = [];
  readonly #comparedOf = new Map<string, number>();
  /** Total number of answers looked up. */
  compared = 0;
  /** Receipts that were skipped because there were too many; an unread batch counts as one. */
  passedOver = 0;

  constructor(deps: ReceiptsWatchDeps) {
    this.#deps = deps;
  }

  /** Receipts that wait for their events or for a second lookup. */
  get waiting(): number {
    return (this.#due?.receipts.length ?? 0) + this.#suspects.length;
  }

  of(org: string): AnswersCheck {
    const wrong = this.#faulty.filter(({ receipt }) => receipt.org === org).length;
    return { compared: this.#comparedOf.get(org) ?? 0, wrong };
  }

  /**
   * Runs one check. A wrong answer is reported at each check until it is repaired.
   * @param isBooked whether all events up to a sequence are in the ledger
   * @throws JetStreamError, TimeoutError, and the driver's errors
   */
  async check(findings: Findings, isBooked: (eventsSeq: number) => Promise<boolean>): Promise<void> {
    const { store } = this.#deps;
    this.#due ??= await this.#read();
    const { receipts, eventsSeq } = this.#due;
    if (await isBooked(eventsSeq)) {
      const known = [...this.#suspects, ...this.#faulty.map(({ receipt }) => receipt)];
      const [still, fresh] = [await faultyAmong(store, known), await faultyAmong(store, receipts)];
      this.#faulty = still.slice(0, FAULTY_MAX);
      this.#suspects = fresh.map(({ receipt }) => receipt).slice(0, FAULTY_MAX);
      this.#count(receipts);
      this.#due = null;
    }
    for (const { drift } of this.#faulty) findings.add(drift);
  }

  /** Reads new receipts. Their events are already in the stream: an edge writes a receipt after its event is stored. */
  async #read(): Promise<{ receipts: Receipt[]; eventsSeq: number }> {
    const { bus, partition } = this.#deps;
    const last = await lastReceipts(bus);
    const next = (this.#seq ?? 0) + 1;
    const first = Math.max(next, last - BATCHES_PER_CHECK_MAX + 1);
    if (this.#seq !== null) this.passedOver += first - next;
    let receipts: Receipt[] = [];
    for await (const messages of receiptMessages(bus, first, last)) {
      const ours = messages.flatMap(receiptsOf).filter(({ org }) => partition.hasOrg(org));
      const all = [...receipts, ...ours];
      receipts = all.slice(-RECEIPTS_PER_CHECK_MAX);
      this.passedOver += all.length - receipts.length;
    }
    this.#seq = last;
    const { last_seq: eventsSeq } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
    return { receipts, eventsSeq };
  }

  #count(receipts: readonly Receipt[]): void {
    this.compared += receipts.length;
    for (const { org } of receipts)
      remember(this.#comparedOf, org, (this.#comparedOf.get(org) ?? 0) + 1, ORGS_REMEMBERED_MAX);
  }
}
