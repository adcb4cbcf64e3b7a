// The continuous check of answers: receipts that have come since the last look, each looked up in the ledger once what
// was in the stream of events when it was read is booked. Bounded: of many, the newest, and `npm run audit` sees all.
import { type Bus, ensureReceiptsStream } from '@switchyard/bus';
import { EVENTS_STREAM, RECEIPTS_STREAM } from '@switchyard/contracts';
import type { Store } from '../store/store.ts';
import type { Findings } from './drift.ts';
import { type Faulty, faultyAmong, type Receipt, receiptMessages, receiptsOf } from './receipts-check.ts';

/** Receipts of one look. */
export const RECEIPTS_PER_LOOK_MAX = 20_000;
/** Batches of one look: each edge hands over one a second. */
export const BATCHES_PER_LOOK_MAX = 1_200;
/** Answers that were not in the ledger, and are looked for again at each look until they are. */
const FAULTY_MAX = 1_000;
/** Orgs whose answers are counted. */
const ORGS_REMEMBERED_MAX = 10_000;

export interface ReceiptsWatchOptions {
  readonly bus: Bus;
  readonly store: Store;
  /** Receipts of others are passed over: their owners look at them. */
  readonly hasOrg: (org: string) => boolean;
}

/** What is known of an org's answers. */
export interface AnswersCheck {
  /** Answers that were looked up since this owner began. */
  readonly compared: number;
  /** Those that the ledger does not bear out, now. */
  readonly wrong: number;
}

export class ReceiptsWatch {
  readonly #on: ReceiptsWatchOptions;
  /** The last batch that was read. */
  #seq: number | null = null;
  /** Read, and waiting until the events up to `eventsSeq` are booked. */
  #due: { readonly receipts: readonly Receipt[]; readonly eventsSeq: number } | null = null;
  /** Seen once and not counted yet: a video's charge may be in an outbox. */
  #suspects: Receipt[] = [];
  #faulty: Faulty[] = [];
  readonly #comparedOf = new Map<string, number>();
  /** Answers that were looked up. */
  compared = 0;
  /** Receipts that were not looked up, as there were too many at once; of batches that were not even read, one each. */
  passedOver = 0;

  constructor(on: ReceiptsWatchOptions) {
    this.#on = on;
  }

  /** Receipts that are read and wait for their events, or for a second look. */
  get waiting(): number {
    return (this.#due?.receipts.length ?? 0) + this.#suspects.length;
  }

  of(org: string): AnswersCheck {
    const wrong = this.#faulty.filter(({ receipt }) => receipt.org === org).length;
    return { compared: this.#comparedOf.get(org) ?? 0, wrong };
  }

  /**
   * One look. What is wrong is found again at each look until it is mended.
   * @param isBooked whether all events up to a sequence are in the ledger
   * @throws JetStreamError, TimeoutError, and the driver's errors
   */
  async look(findings: Findings, isBooked: (eventsSeq: number) => Promise<boolean>): Promise<void> {
    const { store } = this.#on;
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

  /** The events of all that is read are in the stream by then: an edge notes an answer when its event is stored. */
  async #read(): Promise<{ receipts: Receipt[]; eventsSeq: number }> {
    const { bus, hasOrg } = this.#on;
    await ensureReceiptsStream(bus);
    const { last_seq: last } = (await bus.jsm.streams.info(RECEIPTS_STREAM)).state;
    const next = (this.#seq ?? 0) + 1;
    const first = Math.max(next, last - BATCHES_PER_LOOK_MAX + 1);
    if (this.#seq !== null) this.passedOver += first - next;
    let receipts: Receipt[] = [];
    for await (const messages of receiptMessages(bus, first, last)) {
      const ours = messages.flatMap(receiptsOf).filter(({ org }) => hasOrg(org));
      const all = [...receipts, ...ours];
      receipts = all.slice(-RECEIPTS_PER_LOOK_MAX);
      this.passedOver += all.length - receipts.length;
    }
    this.#seq = last;
    const { last_seq: eventsSeq } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
    return { receipts, eventsSeq };
  }

  #count(receipts: readonly Receipt[]): void {
    this.compared += receipts.length;
    for (const { org } of receipts) {
      const before = this.#comparedOf.get(org) ?? 0;
      this.#comparedOf.delete(org); // last in the order of the map, so that the longest silent is first
      this.#comparedOf.set(org, before + 1);
    }
    for (const org of this.#comparedOf.keys()) {
      if (this.#comparedOf.size <= ORGS_REMEMBERED_MAX) break;
      this.#comparedOf.delete(org);
    }
  }
}
