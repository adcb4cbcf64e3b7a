// Sends the costs that this edge reported to its callers to billing's audit once a second, which compares each with the
// ledger. docs/decisions/2026-11-21-receipts.md says what the audit can and cannot detect.
//
// A receipt adds only an entry in a list to a call. An edge that stops writes the remaining receipts to disk. Receipts
// of a killed edge that were not handed over are not audited; their calls are in the ledger all the same.
import { ADOPT_MS, type Bus, ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_PER_BATCH_MAX, type ReceiptBatch, receiptsSubject } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import { adoptReceipts, keepReceipts, readReceipts } from './kept-receipts.ts';

const EVERY_MS = 1_000;
const PUBACK_TIMEOUT_MS = 2_000;
/** Receipts that wait while JetStream is away: about 20 MB. Newer ones beyond this are dropped. */
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
  /** On a volume that outlives the instance; instances may share it. */
  readonly folder: string;
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
  #adoptedAt = Number.NEGATIVE_INFINITY;
  /** Answers with a cost since this edge started. */
  answers = 0;
  /** Those of them whose receipt was dropped. */
  dropped = 0;

  constructor(deps: ReceiptsOptions) {
    this.#deps = deps;
    const { clock, logger } = deps;
    const failed = 'receipts could not be handed over; they wait';
    this.#repeating = repeat({ everyMs: EVERY_MS, clock, logger, failed }, () => this.#handOver());
  }

  /**
   * Records the cost that a caller received; the event that charges it is stored.
   * @param cost dollars
   */
  record(org: string, event: string, cost: string): void {
    this.answers += 1;
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ org, event, cost });
    else this.dropped += 1;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Hands over the remaining receipts; those that JetStream does not store go to disk for the next edge. */
  async close(): Promise<void> {
    const { logger } = this.#deps;
    await this.#repeating.stop();
    await this.#handOver().catch((error: unknown) => logger.warn({ err: error }, 'receipts must wait'));
    this.#leave();
  }

  async #handOver(): Promise<void> {
    const { bus, clock } = this.#deps;
    if (!bus.connected) return;
    for (;;) {
      this.#batch ??= this.#nextBatch();
      if (this.#batch === null) break;
      await this.#publish(this.#batch);
      this.#batch = null;
    }
    if (clock.monotonic() - this.#adoptedAt < ADOPT_MS) return;
    this.#adoptedAt = clock.monotonic();
    await this.#handOverLeft();
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

  /** Hands over the receipts of edges that have stopped. */
  async #handOverLeft(): Promise<void> {
    for (const file of adoptReceipts(this.#deps.folder)) {
      try {
        for (const batch of readReceipts(file)) await this.#publish(batch);
      } catch (error) {
        file.release(); // for the next round or the next edge
        throw error;
      }
      file.remove();
    }
  }

  /** Writes the remaining receipts to disk. */
  #leave(): void {
    const { folder, logger } = this.#deps;
    const batches: ReceiptBatch[] = [];
    for (let batch = this.#batch ?? this.#nextBatch(); batch; batch = this.#nextBatch()) batches.push(batch);
    this.#batch = null;
    const receipts = batches.reduce((sum, { answers }) => sum + Object.values(answers).flat().length, 0);
    if (receipts === 0) return;
    try {
      keepReceipts(folder, batches);
      logger.warn({ receipts }, 'receipts are not handed over; they wait on disk');
    } catch (error) {
      this.dropped += receipts;
      logger.error({ err: error, receipts }, 'receipts are lost: billing does not look up these answers');
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
    return { edge: this.#deps.bus.instance, number: this.#batches, answers };
  }
}
