// Sends the costs that this edge reported to its callers to billing's audit once a second, which compares each with the
// ledger. docs/decisions/2026-11-21-receipts.md says what the audit can and cannot detect.
//
// A receipt adds only an entry in a list to a call. Receipts that an edge could not hand over before it ended are not
// audited; their calls are in the ledger all the same.
import { type Bus, ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_PER_BATCH_MAX, type ReceiptBatch, receiptsSubject } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { type Clock, type Logger, type Repeating, repeat, sleep } from '@switchyard/service';

const EVERY_MS = 1_000;
const PUBACK_TIMEOUT_MS = 5_000;
/** How long a shutdown waits for JetStream: its other steps need the rest of the time that a drain has. */
const CLOSE_MS_MAX = 3_000;
/** Receipts that wait while JetStream is unavailable: about 20 MB. Newer ones beyond this are dropped. */
const WAITING_MAX = 100_000;

interface Receipt {
  readonly org: string;
  /** The event that charges the answer. */
  readonly event: string;
  /** Dollars, as reported to the caller. */
  readonly cost: string;
}

interface ReceiptsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Receipts {
  readonly #deps: ReceiptsOptions;
  readonly #repeating: Repeating;
  #waiting: Receipt[] = [];
  /** The current batch: published under the same id until it is stored. */
  #batch: ReceiptBatch | null = null;
  #batches = 0;
  /** Answers with a cost since this edge started. */
  answers = 0;
  /** Answers whose receipt was dropped. */
  dropped = 0;

  constructor(deps: ReceiptsOptions) {
    this.#deps = deps;
    const { clock, logger } = deps;
    const failed = 'receipts could not be handed over; they wait';
    this.#repeating = repeat({ everyMs: EVERY_MS, clock, logger, failed }, () => this.#handOver());
  }

  /**
   * Returns the header that states the cost of an answer, and records it; the event that charges it is stored.
   * @param cost dollars
   */
  stateCost(org: string, event: string, cost: string): { readonly 'x-service-cost': string } {
    this.answers += 1;
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ org, event, cost });
    else this.dropped += 1;
    return { 'x-service-cost': cost };
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Hands over the remaining receipts; those that JetStream does not store in time are dropped. */
  async close(): Promise<void> {
    const { clock, logger } = this.#deps;
    const handedOver = new AbortController();
    const rest = this.#repeating
      .stop()
      .then(() => this.#handOver())
      .catch((error: unknown) => logger.warn({ err: error }, 'receipts could not be handed over'));
    await Promise.race([rest, sleep(CLOSE_MS_MAX, clock, handedOver.signal)]);
    handedOver.abort();
    const receipts = this.#waiting.length + Object.values(this.#batch?.answers ?? {}).flat().length;
    if (receipts === 0) return;
    this.#waiting = [];
    this.#batch = null;
    this.dropped += receipts;
    logger.error({ receipts }, 'receipts are lost: billing does not look up these answers');
  }

  async #handOver(): Promise<void> {
    const { bus } = this.#deps;
    if (!bus.connected) return;
    for (;;) {
      this.#batch ??= this.#nextBatch();
      if (this.#batch === null) break;
      await this.#publish(this.#batch);
      this.#batch = null;
    }
  }

  /** Publishes under the same id until the batch is stored. */
  async #publish(batch: ReceiptBatch): Promise<void> {
    const { bus } = this.#deps;
    await ensureReceiptsStream(bus);
    await bus.js.publish(receiptsSubject(batch.edge), JSON.stringify(batch), {
      msgID: `${batch.edge}:${batch.number}`,
      timeout: PUBACK_TIMEOUT_MS,
    });
  }

  #nextBatch(): ReceiptBatch | null {
    if (this.#waiting.length === 0) return null;
    const taken = this.#waiting.slice(0, RECEIPTS_PER_BATCH_MAX);
    this.#waiting = this.#waiting.slice(RECEIPTS_PER_BATCH_MAX);
    const answers: ReceiptBatch['answers'] = {};
    for (const { org, event, cost } of taken) {
      answers[org] ??= [];
      answers[org].push([event, parseDollars(cost).toString()]);
    }
    this.#batches += 1;
    return { edge: this.#deps.bus.instance, number: this.#batches, answers };
  }
}
