// Limits what a process does or holds at once. Places are given in the order of requests. An org that has its maximum
// is skipped: it delays no other org.
import type { Clock } from './clock.ts';

export interface HeldPlaces {
  readonly amount: number;
  /** Releases all but this many. */
  keep(amount: number): void;
  /** Repeated calls have no effect. */
  release(): void;
}

interface PlacesOptions {
  max: number;
  /** Maximum of one org; absent: no limit. */
  orgMax?: number;
  /** Maximum wait, and the error after it; absent: a request waits until its signal aborts. */
  wait?: { clock: Clock; msMax: number; late: (waitedMs: number) => Error };
}

interface TakeOptions {
  /** Absent: no org, so only `max` applies. */
  org?: string | undefined;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
  /** The caller holds places already, for which earlier requests may wait: it goes before those that hold none. */
  isHolder?: boolean;
  /** Default: that of `wait`. */
  waitMsMax?: number | undefined;
}

interface Waiter {
  readonly org: string | undefined;
  readonly amount: number;
  readonly isHolder: boolean;
  admit(): void;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #queue: Waiter[] = [];
  readonly #heldByOrg = new Map<string | undefined, number>();
  #held = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Does the work in a place. @throws as `take`, and what the work throws */
  async run<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    const place = await this.take(1, { signal });
    try {
      return await work();
    } finally {
      place.release();
    }
  }

  /**
   * Takes places after all earlier requests.
   * @throws the signal's reason, or the error of `wait`; no places are taken then
   */
  async take(amount: number, options: TakeOptions): Promise<HeldPlaces> {
    const { org, signal } = options;
    signal.throwIfAborted();
    if (amount > 0) await this.#waitForTurn(amount, options);
    let held = amount;
    const keep = (kept: number) => {
      if (kept >= held) return;
      this.#count(org, kept - held);
      held = kept;
      this.#admit();
    };
    return {
      get amount() {
        return held;
      },
      keep,
      release: () => keep(0),
    };
  }

  #waitForTurn(amount: number, options: TakeOptions): Promise<void> {
    const { org, signal, isHolder = false } = options;
    const { wait } = this.#options;
    const waitMsMax = options.waitMsMax ?? wait?.msMax ?? 0;
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        stopClock?.();
        signal.removeEventListener('abort', leave);
        outcome();
      };
      const giveUp = (reason: unknown) => {
        settle(() => reject(reason));
        this.#admit(); // later requests may have waited only for this one
      };
      const leave = () => giveUp(signal.reason);
      const waiter: Waiter = { org, amount, isHolder, admit: () => settle(resolve) };
      const stopClock = wait?.clock.after(waitMsMax, () => giveUp(wait.late(waitMsMax)));
      signal.addEventListener('abort', leave, { once: true });
      const holders = this.#queue.findLastIndex((one) => one.isHolder) + 1;
      this.#queue.splice(isHolder ? holders : this.#queue.length, 0, waiter);
      this.#admit();
    });
  }

  #admit(): void {
    const { max, orgMax = max } = this.#options;
    const full = new Set<string>();
    for (const { org, amount, admit } of [...this.#queue]) {
      if (org !== undefined && (full.has(org) || this.#heldBy(org) + amount > orgMax)) {
        full.add(org);
        continue;
      }
      if (this.#held + amount > max) return;
      this.#count(org, amount);
      admit();
    }
  }

  #count(org: string | undefined, amount: number): void {
    this.#held += amount;
    const held = this.#heldBy(org) + amount;
    if (held > 0) this.#heldByOrg.set(org, held);
    else this.#heldByOrg.delete(org);
  }

  #heldBy(org: string | undefined): number {
    return this.#heldByOrg.get(org) ?? 0;
  }
}
