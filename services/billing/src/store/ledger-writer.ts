// The writer of the ledger: logs, then numbered rows, then aggregates. The order allows a kill between any two steps,
// repeats, and two concurrent writers, and still books each event exactly once. The README of this service explains
// why.
import { type Clock, type Logger, systemClock } from '@switchyard/service';
import { bookedPlace } from '../statements/months.ts';
import { answered } from './answered.ts';
import { type Conflict, idsToLookUp, planBatch } from './batch-plan.ts';
import type { LedgerRow, UnnumberedRow } from './documents.ts';
import type { Entry } from './entries.ts';
import { Fences, foldRows } from './fold.ts';
import { writeLogs } from './log-writer.ts';
import { AnotherWriter, isDuplicateKeyError } from './mongo-errors.ts';
import { FIRST_PARTITION } from './partition.ts';
import { foldAbove } from './rebuild.ts';
import type { Store } from './store.ts';

/** The checkpoint is written once per this many batches; after a crash at most these are checked again. */
const CHECKPOINT_EVERY_BATCHES = 20;

/** The step that just ended, for tests that stop the writer there. */
export type Step = 'known' | 'logs' | 'rows' | 'folded' | 'checkpoint';

interface LedgerWriterDeps {
  readonly store: Store;
  /** Partition of the rows it writes; default: the first. */
  readonly partition?: string;
  readonly logger: Logger;
  /** Decides the statement month of a row. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Called with the rows of each batch after they are written and folded. */
  readonly onBooked?: (rows: readonly LedgerRow[]) => void;
  /** Called and awaited after each step; an error ends the batch there. */
  readonly onStep?: (step: Step) => void | Promise<void>;
}

export class LedgerWriter {
  readonly #deps: LedgerWriterDeps;
  readonly #partition: string;
  /** The last row known to be written and folded; null: unknown, recover first. */
  #last: bigint | null = null;
  #fences = new Fences();
  #batches = 0;

  constructor(deps: LedgerWriterDeps) {
    this.#deps = deps;
    this.#partition = deps.partition ?? FIRST_PARTITION;
  }

  /**
   * Finds the end of the ledger and folds the rows that an earlier writer left unfolded.
   * @throws LedgerGap, AnotherWriter, and the driver's errors: then try again
   */
  async recover(signal?: AbortSignal): Promise<void> {
    this.#last = null;
    this.#fences = new Fences();
    const { ledger, aggregates, checkpoints } = this.#deps.store;
    const checkpoint = (await answered(checkpoints.findOne({ _id: this.#partition })))?.n ?? 0n;
    const last = await foldAbove({
      ...{ ledger, aggregates, partition: this.#partition, above: checkpoint },
      ...(signal ? { signal } : {}),
    });
    if (last > checkpoint) {
      await this.#writeCheckpoint(last);
      this.#deps.logger.info(
        { rows: Number(last - checkpoint), last: Number(last) },
        'the ledger was recovered',
      );
    }
    this.#last = last;
  }

  /**
   * Books a batch. When it resolves, everything is on disk and in the aggregates, and the messages may be acknowledged.
   * When it throws, nothing may be acknowledged, and `recover` comes before anything else.
   * @returns the entries that contradict the ledger; they changed nothing
   * @throws AnotherWriter, and the driver's errors
   */
  async append(entries: readonly Entry[]): Promise<Conflict[]> {
    const { store, onStep = () => {}, onBooked } = this.#deps;
    const last = this.#last;
    if (last === null) throw new Error('recover before the next batch');
    this.#last = null; // unknown until the batch has ended well
    const known = await answered(store.ledger.find({ _id: { $in: idsToLookUp(entries) } }).toArray());
    const plan = planBatch(entries, known);
    await onStep('known');
    await answered(writeLogs(store, plan));
    await onStep('logs');
    const rows = this.#numbered(plan.rows, last);
    if (rows.length > 0) {
      await this.#insert(rows);
      await onStep('rows');
      await answered(foldRows(store.aggregates, rows, this.#fences));
      await onStep('folded');
      onBooked?.(rows);
    }
    this.#batches += 1;
    const end = last + BigInt(rows.length);
    if (this.#batches % CHECKPOINT_EVERY_BATCHES === 0 && end > 0n) {
      await this.#writeCheckpoint(end);
      await onStep('checkpoint');
    }
    this.#last = end;
    return plan.conflicts;
  }

  /** Writes a checkpoint, so that the next start has nothing to fold. */
  async close(): Promise<void> {
    if (this.#last !== null && this.#last > 0n) await this.#writeCheckpoint(this.#last);
  }

  #numbered(rows: readonly UnnumberedRow[], last: bigint): LedgerRow[] {
    const now = (this.#deps.clock ?? systemClock).now();
    let n = last;
    return rows.map((row) => {
      n += 1n;
      return { ...row, ...bookedPlace(row, now), p: this.#partition, n };
    });
  }

  async #insert(rows: LedgerRow[]): Promise<void> {
    try {
      // Ordered, so that an interrupted insert leaves no gap.
      await answered(this.#deps.store.ledger.insertMany(rows, { ordered: true }));
    } catch (error) {
      if (isDuplicateKeyError(error))
        throw new AnotherWriter('the next number of the ledger is taken', error);
      throw error;
    }
  }

  /** A late writer may set it back: the next recovery skips the rows that are folded. */
  async #writeCheckpoint(n: bigint): Promise<void> {
    const { checkpoints } = this.#deps.store;
    await answered(checkpoints.updateOne({ _id: this.#partition }, { $set: { n } }, { upsert: true }));
  }
}
