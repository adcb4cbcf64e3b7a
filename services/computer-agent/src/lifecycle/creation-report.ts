// Reports the progress of a creation whose image is pulled: to its caller, if one listens, and in its record for
// other readers. Nothing is written for an image that is present.
import { type CreationProgress, NOTHING_TO_PULL } from '@switchyard/contracts';
import type { Computer } from './computer.ts';
import { Paced } from './paced.ts';

const REPORTED_EVERY_MS = 500;

export type OnProgress = (progress: CreationProgress) => void;

export class CreationReport {
  readonly #computer: Computer;
  readonly #onProgress: OnProgress;
  readonly #reporting: Paced<CreationProgress>;
  #latest: CreationProgress | null = null;

  /** @param computer under its lock until `settle` */
  constructor(computer: Computer, onProgress: OnProgress = () => {}) {
    this.#computer = computer;
    this.#onProgress = onProgress;
    this.#reporting = new Paced({
      everyMs: REPORTED_EVERY_MS,
      clock: computer.deps.clock,
      pass: (progress) => this.#report(progress),
    });
  }

  /** Reports progress of the pull. */
  pulling(progress: CreationProgress): void {
    this.#latest = progress;
    this.#reporting.give(progress);
  }

  /** The pull has succeeded or failed. Resolves when no write is in progress. */
  settle(): Promise<void> {
    return this.#reporting.stop();
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

  /**
   * Writes the record first, so that the caller finds the computer once it gets its id. Ignores a record removed by
   * control and an unavailable store: the next required write reports them.
   */
  async #report(progress: CreationProgress): Promise<void> {
    const { id, deps } = this.#computer;
    await this.#computer.write({ progress }).catch((error: unknown) => {
      deps.logger.warn({ err: error, computer: id }, 'how far a pull is could not be written down');
    });
    this.#onProgress(progress);
  }
}
