// Reports the progress of a creation whose image is pulled: to its caller, if one listens, and in its record for
// other readers. Nothing is written for an image that is present.
import { type CreationProgress, NOTHING_TO_PULL } from '@switchyard/contracts';
import type { Computer } from './computer.ts';
import { Paced } from './paced.ts';

/** Interval between writes of the record. */
const RECORDED_EVERY_MS = 1_000;
/** Interval between messages to the caller. */
const NOTIFIED_EVERY_MS = 250;

export type OnProgress = (progress: CreationProgress) => void;

export class CreationReport {
  readonly #computer: Computer;
  readonly #onProgress: OnProgress;
  readonly #recording: Paced<CreationProgress>;
  readonly #notifying: Paced<CreationProgress>;
  /** Resolves after the first write of the record, so that the caller finds the computer once it gets its id. */
  readonly #recorded = Promise.withResolvers<void>();
  #latest: CreationProgress | null = null;

  /** @param computer under its lock until `settle` */
  constructor(computer: Computer, onProgress: OnProgress = () => {}) {
    const { clock } = computer.deps;
    this.#computer = computer;
    this.#onProgress = onProgress;
    this.#recording = new Paced({
      everyMs: RECORDED_EVERY_MS,
      clock,
      pass: (progress) => this.#record(progress),
    });
    this.#notifying = new Paced({
      everyMs: NOTIFIED_EVERY_MS,
      clock,
      pass: (progress) => this.#recorded.promise.then(() => onProgress(progress)),
    });
  }

  /** Reports progress of the pull. */
  pulling(progress: CreationProgress): void {
    this.#latest = progress;
    this.#recording.give(progress);
    this.#notifying.give(progress);
  }

  /** The pull has succeeded or failed. Resolves when no write is in progress. */
  async settle(): Promise<void> {
    await Promise.all([this.#recording.stop(), this.#notifying.stop()]);
  }

  /** Reports that the image is present. @returns progress for the record; null if nothing was pulled */
  starting(): CreationProgress | null {
    const progress: CreationProgress = {
      ...(this.#latest ?? NOTHING_TO_PULL),
      phase: 'starting',
      percent: 100,
    };
    this.#onProgress(progress);
    return this.#latest && progress;
  }

  /** Ignores a record removed by control and an unavailable store: the next required write reports them. */
  async #record(progress: CreationProgress): Promise<void> {
    const { id, deps } = this.#computer;
    await this.#computer.write({ progress }).catch((error: unknown) => {
      deps.logger.warn({ err: error, computer: id }, 'how far a pull is could not be written down');
    });
    this.#recorded.resolve();
  }
}
