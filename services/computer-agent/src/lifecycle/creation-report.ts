// Tells how far the creation of a computer is whose image is pulled: its caller, where one listens, and its record, so that
// whoever looks at the computer sees it. Of an image that is there nothing is written.
import { type CreationProgress, NOTHING_TO_PULL } from '@switchyard/contracts';
import type { HeldComputer } from './held-computer.ts';
import { Paced } from './paced.ts';

/** Between two writes of the record. */
export const RECORDED_EVERY_MS = 1_000;
/** Between two of what the caller is told. */
export const TOLD_EVERY_MS = 250;

export type TellProgress = (progress: CreationProgress) => void;

export class CreationReport {
  readonly #computer: HeldComputer;
  readonly #tell: TellProgress;
  readonly #recording: Paced<CreationProgress>;
  readonly #telling: Paced<CreationProgress>;
  /** Whoever is told of the computer finds it: resolved when it has been written once that there is one. */
  readonly #recorded = Promise.withResolvers<void>();
  #latest: CreationProgress | null = null;

  /** @param computer under its lock until `settle` */
  constructor(computer: HeldComputer, tell: TellProgress = () => {}) {
    const { clock } = computer.on;
    this.#computer = computer;
    this.#tell = tell;
    this.#recording = new Paced({
      everyMs: RECORDED_EVERY_MS,
      clock,
      pass: (progress) => this.#record(progress),
    });
    this.#telling = new Paced({
      everyMs: TOLD_EVERY_MS,
      clock,
      pass: (progress) => this.#recorded.promise.then(() => tell(progress)),
    });
  }

  /** The pull has come so far. */
  pulling(progress: CreationProgress): void {
    this.#latest = progress;
    this.#recording.give(progress);
    this.#telling.give(progress);
  }

  /** The pull has ended, however it did; resolves when nothing is written any more. */
  async settle(): Promise<void> {
    await Promise.all([this.#recording.stop(), this.#telling.stop()]);
  }

  /** The image is there: tells so. @returns what its record is to say; null where nothing was pulled */
  starting(): CreationProgress | null {
    const progress: CreationProgress = {
      ...(this.#latest ?? NOTHING_TO_PULL),
      phase: 'starting',
      percent: 100,
    };
    this.#tell(progress);
    return this.#latest && progress;
  }

  /** A record that control has taken away, or a store that is: the next write that matters meets it too. */
  async #record(progress: CreationProgress): Promise<void> {
    const { id, on } = this.#computer;
    await this.#computer.write({ progress }).catch((error: unknown) => {
      on.logger.warn({ err: error, computer: id }, 'how far a pull is could not be written down');
    });
    this.#recorded.resolve();
  }
}
