// What this edge has told its callers that their answers cost, handed to billing's audit once a second: it looks each of
// them up in the ledger. docs/decisions/2026-11-21-receipts.md says what that can see and what it cannot.
//
// A call pays for it with a few words in a list. What a killed edge had not handed over yet nobody looks up; its calls are
// in the ledger all the same.
import { type Bus, ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_PER_BATCH_MAX, type ReceiptBatch, receiptsSubject } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';

const EVERY_MS = 1_000;
const PUBACK_TIMEOUT_MS = 2_000;
/** Receipts that wait while JetStream is away: some 20 MB. Of more, the newest are not handed over. */
const WAITING_MAX = 100_000;

interface Receipt {
  readonly org: string;
  /** The event that charges the answer. */
  readonly event: string;
  /** Dollars, as the caller was told. */
  readonly cost: string;
}

export interface ReceiptsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Receipts {
  readonly #on: ReceiptsOptions;
  readonly #repeating: Repeating;
  #waiting: Receipt[] = [];
  /** The batch that is on its way: published under the same id until it is stored. */
  #batch: ReceiptBatch | null = null;
  #batches = 0;
  /** Answers that said what they cost, in the life of this edge. */
  answers = 0;
  /** Those of them that could not be handed over. */
  dropped = 0;

  constructor(on: ReceiptsOptions) {
    this.#on = on;
    const { clock, logger } = on;
    const failed = 'receipts could not be handed over; they wait';
    this.#repeating = repeat({ everyMs: EVERY_MS, clock, logger, failed }, () => this.#handOver());
  }

  /**
   * A caller was told what its answer costs: the event that charges it is stored.
   * @param cost dollars
   */
  told(org: string, event: string, cost: string): void {
    this.answers += 1;
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ org, event, cost });
    else this.dropped += 1;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Hands over what there is a last time, where JetStream is there. */
  async close(): Promise<void> {
    await this.#repeating.stop();
    await this.#handOver().catch((error: unknown) =>
      this.#on.logger.warn({ err: error, waiting: this.waiting }, 'receipts are not handed over'),
    );
  }

  async #handOver(): Promise<void> {
    const { bus } = this.#on;
    if (!bus.connected || (this.#batch === null && this.#waiting.length === 0)) return;
    await ensureReceiptsStream(bus);
    for (;;) {
      this.#batch ??= this.#nextBatch();
      if (this.#batch === null) return;
      const { edge, number } = this.#batch;
      await bus.js.publish(receiptsSubject(edge), JSON.stringify(this.#batch), {
        msgID: `${edge}:${number}`,
        timeout: PUBACK_TIMEOUT_MS,
      });
      this.#batch = null;
    }
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
    return { edge: this.#on.bus.instance, number: this.#batches, answers };
  }
}
