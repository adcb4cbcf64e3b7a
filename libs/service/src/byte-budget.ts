// Limits the bytes of large bodies that a process holds in memory. A body reserves its bytes, in the order of
// requests, before its first byte is read, and releases them when they leave memory. No org holds more than its share,
// so slow bodies of one org leave room for all others.
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { Clock } from './clock.ts';

/** Smaller bodies need no reservation. */
export const LARGE_BODY_BYTES_MIN = 1024 * 1024;
/** Maximum wait for a reservation: shorter than clients wait, longer than a burst takes. */
export const BUDGET_WAIT_MS_MAX = 180_000;
/** Maximum share of a budget that one org holds. */
export const ORG_SHARE_MAX = 1 / 2;
const RETRY_AFTER_S = 10;
const MIB = 1024 * 1024;

/** The setting of a process that reads large bodies. At its minimum, one org's share is the largest body, twice. */
export const byteBudgetConfig = {
  /** MiB of large bodies (over 1 MiB) in memory at once. */
  SWITCHYARD_LARGE_BODIES_MB: z.coerce.number().int().min(128).max(65_536).default(128),
} as const;

export interface HeldBytes {
  /** Releases the bytes; repeated calls have no effect. */
  release(): void;
}

export interface ReservedBytes extends HeldBytes {
  /** Releases all but this many, once the size is known. */
  keep(bytes: number): void;
}

interface ByteBudgetOptions {
  /** Size of the budget in bytes. */
  bytesMax: number;
  clock: Clock;
}

export interface TakeOptions {
  /** The org whose share is used; null: one common share for routes that need no key. */
  org: string | null;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

interface Waiter {
  readonly org: string | null;
  readonly bytes: number;
  admit(): void;
}

export class ByteBudget {
  readonly bytesMax: number;
  readonly #orgBytesMax: number;
  readonly #clock: Clock;
  readonly #queue: Waiter[] = [];
  readonly #heldByOrg = new Map<string | null, number>();
  #held = 0;

  constructor({ bytesMax, clock }: ByteBudgetOptions) {
    this.bytesMax = bytesMax;
    this.#orgBytesMax = bytesMax * ORG_SHARE_MAX;
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
   * Reserves bytes after all earlier requests are served; an org whose share is full delays only itself.
   * A body larger than the share takes the whole share.
   * @throws ServiceError `service_unavailable` after BUDGET_WAIT_MS_MAX; the signal's reason when the client is gone.
   */
  async take(bytes: number, { org, signal }: TakeOptions): Promise<ReservedBytes> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.#orgBytesMax);
    await this.#waitForTurn(org, wanted, signal);
    return this.#lend(org, wanted);
  }

  #waitForTurn(org: string | null, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        stopClock();
        signal.removeEventListener('abort', leave);
        outcome();
      };
      const giveUp = (reason: unknown) => {
        settle(() => reject(reason));
        this.#admit(); // later requests may have waited only for this one
      };
      const leave = () => giveUp(signal.reason);
      const waiter: Waiter = { org, bytes, admit: () => settle(resolve) };
      const stopClock = this.#clock.after(BUDGET_WAIT_MS_MAX, () => giveUp(noRoom()));
      signal.addEventListener('abort', leave, { once: true });
      this.#queue.push(waiter);
      this.#admit();
    });
  }

  #lend(org: string | null, bytes: number): ReservedBytes {
    let lent = bytes;
    const keep = (kept: number) => {
      if (kept >= lent) return;
      this.#count(org, kept - lent);
      lent = kept;
      this.#admit();
    };
    return { keep, release: () => keep(0) };
  }

  /** Grants in the order of requests; skips bodies of orgs whose share is full. */
  #admit(): void {
    const full = new Set<string | null>();
    for (const { org, bytes, admit } of [...this.#queue]) {
      if (full.has(org) || this.#heldBy(org) + bytes > this.#orgBytesMax) {
        full.add(org);
        continue;
      }
      if (this.#held + bytes > this.bytesMax) return;
      this.#count(org, bytes);
      admit();
    }
  }

  #count(org: string | null, bytes: number): void {
    this.#held += bytes;
    const held = this.#heldBy(org) + bytes;
    if (held > 0) this.#heldByOrg.set(org, held);
    else this.#heldByOrg.delete(org);
  }

  #heldBy(org: string | null): number {
    return this.#heldByOrg.get(org) ?? 0;
  }
}

function noRoom(): ServiceError {
  const message = `No memory for a large body within ${BUDGET_WAIT_MS_MAX / 1_000} s. Retry later.`;
  return new ServiceError('service_unavailable', message, { retryAfterS: RETRY_AFTER_S });
}
