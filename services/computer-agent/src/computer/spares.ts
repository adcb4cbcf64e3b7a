// Things that take time to make, made ahead of need: started containers, mounted disks.
//
// They are replaced in the background, one at a time, shortly after the last claim. Making a container uses a core for
// a quarter of a second, which would slow the first command of the new computer.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@switchyard/service';

const RETRY_DELAY_MS = 5_000;
/** Pause between the last claim and making the next one. */
const REFILL_PAUSE_MS = 500;

interface SparesDeps<T> {
  /** For the log. */
  readonly name: string;
  /** Target number. */
  readonly size: number;
  /** Must end in bounded time: the next spare is made after it. */
  readonly make: () => Promise<T>;
  readonly destroy: (spare: T) => Promise<void>;
  /** Resolves when a spare has become useless: it is destroyed and replaced. */
  readonly ended?: (spare: T) => Promise<void>;
  readonly logger: Logger;
  /** When aborted, nothing more is made. */
  readonly killed?: AbortSignal | undefined;
}

export class Spares<T> {
  readonly #deps: SparesDeps<T>;
  readonly #waiting: T[] = [];
  readonly #closing = new AbortController();
  #filling: Promise<void> | undefined;
  #claimedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SparesDeps<T>) {
    this.#deps = deps;
    deps.killed?.addEventListener('abort', () => this.#closing.abort(), { once: true });
  }

  /** Makes spares from now on. @param first one that is made already */
  start(...first: T[]): void {
    for (const spare of first) this.#add(spare);
    this.#refill();
  }

  /** Takes one out; undefined if there is none. */
  claim(): T | undefined {
    const spare = this.#waiting.shift();
    if (spare === undefined) return undefined;
    this.#claimedAt = performance.now();
    this.#refill();
    return spare;
  }

  /** Resolves when there are as many as wanted, or none are made any more. */
  async filled(): Promise<void> {
    while (this.#filling) await this.#filling;
  }

  /** Stops making spares and destroys those that wait. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#filling;
    await Promise.all(this.#waiting.splice(0).map(this.#deps.destroy));
  }

  #add(spare: T): void {
    const { name, ended, destroy, logger } = this.#deps;
    this.#waiting.push(spare);
    void ended?.(spare).then(() => {
      const place = this.#waiting.indexOf(spare);
      if (place < 0 || this.#closing.signal.aborted) return; // claimed, or destroyed by this agent
      this.#waiting.splice(place, 1);
      logger.warn({}, `A ${name} ended by itself; it is replaced`);
      void destroy(spare).catch(() => {}); // the reconciler removes what is left
      this.#refill();
    });
  }

  #refill(): void {
    const isWanted = () => this.#waiting.length < this.#deps.size && !this.#closing.signal.aborted;
    if (this.#filling || !isWanted()) return;
    this.#filling = this.#fill(isWanted).finally(() => {
      this.#filling = undefined;
      this.#refill(); // one may have been claimed since the last was made
    });
  }

  async #fill(isWanted: () => boolean): Promise<void> {
    const { name, make, destroy, logger } = this.#deps;
    while (isWanted()) {
      await this.#pauseAfterClaim();
      if (!isWanted()) return;
      try {
        const spare = await make();
        if (this.#closing.signal.aborted) await destroy(spare);
        else this.#add(spare);
      } catch (error) {
        logger.warn({ err: error }, `A ${name} could not be made ahead of need; trying again`);
        await this.#pause(RETRY_DELAY_MS);
      }
    }
  }

  /** The wait is bounded by the number of spares: each claim leaves one fewer. */
  async #pauseAfterClaim(): Promise<void> {
    for (;;) {
      const leftMs = this.#claimedAt + REFILL_PAUSE_MS - performance.now();
      if (leftMs <= 0 || this.#closing.signal.aborted) return;
      await this.#pause(leftMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }
}
