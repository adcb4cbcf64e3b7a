// Reports the progress of a creation whose image is pulled: to its caller, if one listens, and in its record for
// other readers. Nothing is written for an image that is present.
import { type CreationProgress, NOTHING_TO_PULL } from '@switchyard/contracts';
import { sleep } from '@switchyard/service';
import type { Computer } from './computer.ts';

const REPORTED_EVERY_MS = 500;

export type OnProgress = (progress: CreationProgress) => void;

export class CreationReport {
  readonly #computer: Computer;
  readonly #onProgress: OnProgress;
  #latest: CreationProgress | null = null;
  /** The latest progress is not reported yet. */
  #isDue = false;
  #reporting: Promise<void> | undefined;
  readonly #settled = new AbortController();

  /** @param computer under its lock until `settle` */
  constructor(computer: Computer, onProgress: OnProgress = () => {}) {
    this.#computer = computer;
    this.#onProgress = onProgress;
  }

  /** Reports progress of the pull. */
  pulling(progress: CreationProgress): void {
    this.#latest = progress;
    this.#isDue = true;
    this.#reporting ??= this.#reportWhileDue();
  }

  /** The pull has succeeded or failed. Resolves when no write is in progress. */
  async settle(): Promise<void> {
    this.#settled.abort();
    await this.#reporting;
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

  /** Reports the first progress at once, then the latest at a limited rate. */
  async #reportWhileDue(): Promise<void> {
    const { clock } = this.#computer.deps;
    const { signal } = this.#settled;
    while (this.#isDue && this.#latest && !signal.aborted) {
      this.#isDue = false;
      await this.#report(this.#latest);
      await sleep(REPORTED_EVERY_MS, clock, signal);
    }
    this.#reporting = undefined;
  }

  /**
   * Writes the record first, so that the caller finds the computer once it gets its id. Ignores a record removed by
   * control and an unavailable store: the next required write reports them.
   */
  async #report(progress: CreationProgress): Promise<void> {
    const { id, deps } = this.#computer;
    await this.#computer.write({ progress }).catch((error: unknown) => {
      deps.logger.warn({ err: error, computer: id }, 'the progress of a pull was not recorded');
    });
    this.#onProgress(progress);
  }
}
