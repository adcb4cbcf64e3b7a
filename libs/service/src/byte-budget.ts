// How many bytes of large bodies a process holds at once. A body's place is taken before its first byte is asked for, in
// the order of asking, and given back when nobody holds the bytes any more; so memory stays bounded however many come.
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { Clock } from './clock.ts';

/** Bytes of a body that no place is asked for. */
export const LARGE_BODY_BYTES_MIN = 1024 * 1024;
/** A body that has found no place by then is refused: shorter than clients wait, longer than a burst takes. */
export const BUDGET_WAIT_MS_MAX = 180_000;
const RETRY_AFTER_S = 10;
const MIB = 1024 * 1024;

/** The setting of a process that reads large bodies. The least of it holds the largest body there is, twice. */
export const byteBudgetConfig = {
  /** MiB of large bodies (over 1 MiB) in memory at once. */
  SWITCHYARD_LARGE_BODIES_MB: z.coerce.number().int().min(64).max(65_536).default(96),
} as const;

export interface HeldBytes {
  /** Gives them back; may be called again. */
  release(): void;
}

export interface ByteBudgetOptions {
  /** Bytes in all. */
  bytesMax: number;
  clock: Clock;
}

interface Waiter {
  readonly bytes: number;
  admit(): void;
}

export class ByteBudget {
  readonly bytesMax: number;
  readonly #clock: Clock;
  readonly #queue: Waiter[] = [];
  #held = 0;

  constructor({ bytesMax, clock }: ByteBudgetOptions) {
    this.bytesMax = bytesMax;
    this.#clock = clock;
  }

  /** From the setting. */
  static of(config: { SWITCHYARD_LARGE_BODIES_MB: number }, clock: Clock): ByteBudget {
    return new ByteBudget({ bytesMax: config.SWITCHYARD_LARGE_BODIES_MB * MIB, clock });
  }

  /** For metrics and tests. */
  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Takes so many bytes when those who asked before have theirs. What is more than the whole takes the whole.
   * @throws ServiceError `service_unavailable` after BUDGET_WAIT_MS_MAX; the signal's reason when the client is gone.
   */
  async take(bytes: number, signal: AbortSignal): Promise<HeldBytes> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.bytesMax);
    if (this.#queue.length > 0 || !this.#fits(wanted)) await this.#waitFor(wanted, signal);
    else this.#held += wanted;
    return this.#lend(wanted);
  }

  #waitFor(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        stopClock();
        signal.removeEventListener('abort', leave);
        outcome();
      };
      const giveUp = (reason: unknown) => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        settle(() => reject(reason));
        this.#admit(); // those behind may have waited for this one only
      };
      const leave = () => giveUp(signal.reason);
      const waiter: Waiter = { bytes, admit: () => settle(resolve) };
      this.#queue.push(waiter);
      signal.addEventListener('abort', leave, { once: true });
      const stopClock = this.#clock.after(BUDGET_WAIT_MS_MAX, () => giveUp(noRoom()));
    });
  }

  #lend(bytes: number): HeldBytes {
    let lent = bytes;
    return {
      release: () => {
        this.#held -= lent;
        lent = 0;
        this.#admit();
      },
    };
  }

  #admit(): void {
    for (let next = this.#queue[0]; next && this.#fits(next.bytes); next = this.#queue[0]) {
      this.#queue.shift();
      this.#held += next.bytes;
      next.admit();
    }
  }

  #fits(bytes: number): boolean {
    return this.#held + bytes <= this.bytesMax;
  }
}

function noRoom(): ServiceError {
  const message = `no room in memory for a large body within ${BUDGET_WAIT_MS_MAX / 1_000} s`;
  return new ServiceError('service_unavailable', message, { retryAfterS: RETRY_AFTER_S });
}
