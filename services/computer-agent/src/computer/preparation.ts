// Prepares the host for new computers in the background, beginning with the standard image, and reports progress. Only
// new computers wait for it.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@switchyard/service';

const RETRY_MS_DEFAULT = 30_000;
const LOOKING = { ready: false, message: 'looking for the standard computer image' } as const;

export interface StandardImage {
  /** Its name and tag. */
  readonly name: string;
  /** Builds the image if it is missing; `report` takes progress messages. Safe to repeat. */
  readonly ensure: (report: (message: string) => void, signal: AbortSignal) => Promise<void>;
}

export type ImageStatus = { readonly ready: true } | { readonly ready: false; readonly message: string };

interface PreparationDeps {
  readonly image: StandardImage;
  /** The remaining steps. Safe to repeat. @returns false if something is missing that a later attempt may find */
  readonly prepare: () => Promise<boolean>;
  readonly retryMs?: number | undefined;
  readonly logger: Logger;
}

export class Preparation {
  readonly #deps: PreparationDeps;
  readonly #closing = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  #status: ImageStatus = LOOKING;
  /** `prepare` has returned true. */
  #isPrepared = false;
  #working: Promise<void> = Promise.resolve();

  constructor(deps: PreparationDeps) {
    this.#deps = deps;
  }

  /** Call once. */
  start(): void {
    this.#working = this.#keepTrying();
  }

  get status(): ImageStatus {
    return this.#status;
  }

  /** Resolves when the first attempt has succeeded. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Call when the engine lacks the image that it had: it is made again. */
  imageIsMissing(): void {
    if (!this.#status.ready) return;
    this.#status = LOOKING;
    this.#working = this.#working.then(() => this.#keepTrying());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #keepTrying(): Promise<void> {
    const { retryMs = RETRY_MS_DEFAULT, logger } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (await this.#attempt()) return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        logger.warn({ err: error }, 'the host cannot run computers yet');
        this.#report(`computers are not ready: ${reason}; trying again every ${retryMs / 1_000} s`);
      }
      await delay(retryMs, undefined, { signal }).catch(() => {});
    }
  }

  async #attempt(): Promise<boolean> {
    const { image, prepare } = this.#deps;
    await image.ensure((message) => this.#report(message), this.#closing.signal);
    this.#report('the standard computer image exists; the host is being prepared');
    this.#isPrepared ||= await prepare();
    this.#status = { ready: true };
    this.#ready.resolve();
    return this.#isPrepared;
  }

  #report(message: string): void {
    if (!this.#status.ready) this.#status = { ready: false, message };
  }
}
