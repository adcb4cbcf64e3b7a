// Limits the bytes of large bodies that a process holds in memory. A body reserves its bytes, in the order of
// requests, before its first byte is read, and releases them when they leave memory. No org holds more than its share,
// so slow bodies of one org leave room for all others.
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { Clock } from './clock.ts';
import { type HeldPlaces, Places } from './places.ts';

/** Smaller bodies need no reservation. */
export const LARGE_BODY_BYTES_MIN = 1024 * 1024;
/** Maximum wait for a reservation: shorter than clients wait, longer than a burst takes. */
export const BUDGET_WAIT_MS_MAX = 180_000;
/** Maximum share of a budget that one org holds. */
export const ORG_SHARE_MAX = 1 / 2;
const RETRY_AFTER_S = 10;
const MIB = 1024 * 1024;

/** The setting of a process that reads large bodies. Its minimum gives an org two copies of the largest body. */
export const byteBudgetConfig = {
  /** MiB of large bodies (over 1 MiB) in memory at once. */
  SWITCHYARD_LARGE_BODIES_MB: z.coerce.number().int().min(128).max(65_536).default(128),
} as const;

export type HeldBytes = Pick<HeldPlaces, 'release'>;

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
  /** Bytes that the request holds already. The total is capped at the share, or it would wait for itself. */
  held?: number;
  /** Default `BUDGET_WAIT_MS_MAX`. */
  waitMsMax?: number;
}

/** The org of routes that need no key. */
const NO_ORG = '';

export class ByteBudget {
  readonly bytesMax: number;
  readonly #orgBytesMax: number;
  readonly #places: Places;

  constructor({ bytesMax, clock }: ByteBudgetOptions) {
    this.bytesMax = bytesMax;
    this.#orgBytesMax = bytesMax * ORG_SHARE_MAX;
    const wait = { clock, msMax: BUDGET_WAIT_MS_MAX, late: noRoom };
    this.#places = new Places({ max: bytesMax, orgMax: this.#orgBytesMax, wait });
  }

  /** From the setting. */
  static of(config: { SWITCHYARD_LARGE_BODIES_MB: number }, clock: Clock): ByteBudget {
    return new ByteBudget({ bytesMax: config.SWITCHYARD_LARGE_BODIES_MB * MIB, clock });
  }

  /** For metrics and tests. */
  get held(): number {
    return this.#places.held;
  }

  get waiting(): number {
    return this.#places.waiting;
  }

  /**
   * Reserves bytes after all earlier requests are served, and after those that hold bytes already; an org whose share is
   * full delays only itself. A request larger than the share takes the whole share.
   * @throws ServiceError `service_unavailable` after `waitMsMax`; the signal's reason when the client is gone.
   */
  take(bytes: number, { org, signal, held = 0, waitMsMax }: TakeOptions): Promise<HeldPlaces> {
    const wanted = Math.min(bytes, this.#orgBytesMax - held);
    return this.#places.take(wanted, { org: org ?? NO_ORG, signal, isHolder: held > 0, waitMsMax });
  }
}

function noRoom(waitedMs: number): ServiceError {
  const message = `No memory for a large body within ${waitedMs / 1_000} s. Retry later.`;
  return new ServiceError('service_unavailable', message, { retryAfterS: RETRY_AFTER_S });
}
