// The writer of the ledger: logs, then numbered rows, then aggregates, in an order that lets it be killed between any
// two steps, repeated, or run twice at the same time, and still book each event exactly once. What the scheme
// rests on is in README.md of this service.
import { type Clock, type Logger, systemClock } from '@switchyard/service';
import { placesAt } from '../statements/months.ts';
import { answered } from './answered.ts';
import { type Conflict, idsToLookUp, planBatch } from './batch-plan.ts';
import { FAMILIES, type LedgerRow, type UnnumberedRow } from './documents.ts';
import type { Entry } from './entries.ts';
import { Fences } from './fences.ts';
import { bothOf, foldRows } from './fold.ts';
import { foldLines } from './fold-lines.ts';
import { writeLogs } from './log-writer.ts';
import { AnotherWriter, metDuplicateKey } from './mongo-errors.ts';
import { FIRST_PARTITION } from './partition.ts';
import { foldAbove } from './rebuild.ts';
import type { Store } from './store.ts';

/** The checkpoint is written once in so many batches: after a crash at most these are looked at again. */
const CHECKPOINT_EVERY_BATCHES = 20;

/** What a checkpoint was written for: rows below one that was written for others miss some aggregates. */
const FOLDED_FOR = [...FAMILIES, 'lines'].join(' ');

/** What has just been done, for tests that stop the writer there. */
export type Step = 'known' | 'logs' | 'rows' | 'folded' | 'checkpoint';

export interface LedgerWriterOptions {
  readonly store: Store;
  /** Whose rows it writes; default: those of the first. */
  readonly partition?: string;
  readonly logger: Logger;
  /** Decides in which month's statement a row is. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Told the rows of each batch once they are written and folded. */
  readonly onBooked?: (rows: readonly LedgerRow[]) => void;
  /** Called after each step and waited for; what it throws ends the batch there. */
  readonly onStep?: (step: Step) => void | Promise<void>;
}

/** A batch whose log rows are written, and whose ledger rows are decided. */
export interface PreparedBatch {
  readonly rows: readonly UnnumberedRow[];
  /** Entries that contradict the ledger. They changed nothing. */
  readonly conflicts: Conflict[];
}

/**
 * Batches are prepared one after the other and booked one after the other, and the next may be prepared while one is
 * booked: it is decided against the ledger as it is with those before it, and booked only after them.
 */
export class LedgerWriter {
  readonly #store: Store;
  readonly #partition: string;
  readonly #logger: Logger;
  readonly #onBooked: (rows: readonly LedgerRow[]) => void;
  readonly #onStep: (step: Step) => void | Promise<void>;
  /** The last row that we know to be written and folded; null: not known, recover first. */
  #last: bigint | null = null;
  #fences = new Fences();
  /** In their order, those that are not booked yet. */
  #prepared: PreparedBatch[] = [];
  #batches = 0;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(options: LedgerWriterOptions) {
    const { store, logger, clock = systemClock, onBooked = () => {}, onStep = () => {} } = options;
    this.#clock = clock;
    this.#onBooked = onBooked;
    this.#store = store;
    this.#partition = options.partition ?? FIRST_PARTITION;
    this.#logger = logger;
    this.#onStep = onStep;
  }

  /** Whether batches may be prepared and booked; if not, `recover` comes first. */
  get ready(): boolean {
    return this.#last !== null;
  }

  /**
   * Finds the end of the ledger and folds what a predecessor, or we, left unfolded: all of it where there are aggregates
   * that a predecessor did not know.
   * @throws LedgerGap, AnotherWriter, and the driver's errors: then try again.
   */
  async recover(signal?: AbortSignal): Promise<void> {
    this.#last = null;
    this.#fences = new Fences();
    this.#prepared = [];
    const { ledger, aggregates, checkpoints, statementLines: lines } = this.#store;
    const written = await answered(checkpoints.findOne({ _id: this.#partition }));
    const checkpoint = written?.folded_for === FOLDED_FOR ? written.n : 0n;
    const last = await foldAbove({
      ...{ ledger, aggregates, lines, partition: this.#partition, above: checkpoint },
      ...(signal ? { signal } : {}),
    });
    if (last > checkpoint) {
      await this.#writeCheckpoint(last);
      this.#logger.info({ rows: Number(last - checkpoint), last: Number(last) }, 'the ledger was recovered');
    }
    this.#last = last;
  }

  /**
   * Looks up what the ledger has of a batch, decides its rows and writes its log rows.
   * @throws the driver's errors: then `recover` comes before anything else.
   */
  async prepare(entries: readonly Entry[]): Promise<PreparedBatch> {
    this.#assertReady();
    const prepared = this.#prepared;
    const before = [...prepared];
    return this.#orRecover(async () => {
      const known = await answered(this.#store.ledger.find({ _id: { $in: idsToLookUp(entries) } }).toArray());
      // What was not booked when it was looked up is as good as booked: else this batch is not booked either.
      const plan = planBatch(entries, [...known, ...before.flatMap(({ rows }) => rows)]);
      await this.#onStep('known');
      await answered(writeLogs(this.#store, plan));
      await this.#onStep('logs');
      const batch = { rows: plan.rows, conflicts: plan.conflicts };
      prepared.push(batch);
      return batch;
    });
  }

  /**
   * Books the batch that was prepared first of those that are not booked. When it resolves, everything is on disk and in
   * the aggregates, and its messages may be acknowledged; when it throws, nothing may be, of those prepared after it
   * neither, and `recover` comes before anything else.
   * @throws AnotherWriter, and the driver's errors.
   */
  async book(batch: PreparedBatch): Promise<void> {
    const last = this.#assertReady();
    if (this.#prepared[0] !== batch)
      throw new Error('batches are booked in the order in which they were prepared');
    await this.#orRecover(async () => {
      const rows = this.#numbered(batch.rows, last);
      if (rows.length > 0) {
        await this.#insert(rows);
        await this.#onStep('rows');
        await this.#fold(rows);
        await this.#onStep('folded');
        this.#onBooked(rows);
      }
      this.#prepared.shift();
      if (this.#last !== null) this.#last = last + BigInt(rows.length);
      await this.#checkpointNowAndThen();
    });
  }

  /**
   * Prepares a batch and books it.
   * @returns the entries that contradict the ledger; they changed nothing.
   */
  async append(entries: readonly Entry[]): Promise<Conflict[]> {
    const batch = await this.prepare(entries);
    await this.book(batch);
    return batch.conflicts;
  }

  /** Notes how far the aggregates are, so that the next start has nothing to look at. */
  async close(): Promise<void> {
    if (this.#last !== null && this.#last > 0n) await this.#writeCheckpoint(this.#last);
  }

  /** The number of the last row. */
  #assertReady(): bigint {
    if (this.#last === null) throw new Error('recover before the next batch');
    return this.#last;
  }

  async #orRecover<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#last = null;
      throw error;
    }
  }

  #numbered(rows: readonly UnnumberedRow[], last: bigint): LedgerRow[] {
    const placeOf = placesAt(this.#clock.now());
    let n = last;
    return rows.map((row) => {
      const { month, line } = placeOf(row);
      n += 1n;
      return { ...row, month, line, p: this.#partition, n };
    });
  }

  async #fold(rows: readonly LedgerRow[]): Promise<void> {
    const { aggregates, statementLines } = this.#store;
    const folded = bothOf(
      foldRows(aggregates, rows, this.#fences),
      foldLines(statementLines, rows, this.#fences),
    );
    await answered(folded);
  }

  async #insert(rows: LedgerRow[]): Promise<void> {
    try {
      // In order, so that what is written of it when it is cut has no gap.
      await answered(this.#store.ledger.insertMany(rows, { ordered: true }));
    } catch (error) {
      if (metDuplicateKey(error)) throw new AnotherWriter('the next number of the ledger is taken', error);
      throw error;
    }
  }

  async #checkpointNowAndThen(): Promise<void> {
    this.#batches += 1;
    if (this.#batches % CHECKPOINT_EVERY_BATCHES !== 0 || !this.#last) return;
    await this.#writeCheckpoint(this.#last);
    await this.#onStep('checkpoint');
  }

  /** One that is further on stays: rows up to there may be in none of our sums, where another release has written it. */
  async #writeCheckpoint(n: bigint): Promise<void> {
    const { checkpoints } = this.#store;
    const ours = { $set: { n, folded_for: FOLDED_FOR } };
    const written = checkpoints.updateOne({ _id: this.#partition, n: { $lte: n } }, ours, { upsert: true });
    await answered(written).catch((error: unknown) => {
      if (!metDuplicateKey(error)) throw error;
    });
  }
}
