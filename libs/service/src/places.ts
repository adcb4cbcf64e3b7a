// Limits what a process does or holds at once. Places are given in the order of requests. An org that has its maximum
// is skipped: it delays no other org.
import type { Clock } from './clock.ts';

export interface HeldPlaces {
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
  wait?: { clock: Clock; msMax: number; late: () => Error };
}

interface TakeOptions {
  /** Absent: of no org, so only the whole limits it. */
  org?: string | undefined;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

interface Waiter {
  readonly org: string | undefined;
  readonly amount: number;
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
  async take(amount: number, { org, signal }: TakeOptions): Promise<HeldPlaces> {
    signal.throwIfAborted();
    await this.#waitForTurn(org, amount, signal);
    let held = amount;
    const keep = (kept: number) => {
      if (kept >= held) return;
      this.#count(org, kept - held);
      held = kept;
      this.#admit();
    };
    return { keep, release: () => keep(0) };
  }

  #waitForTurn(org: string | undefined, amount: number, signal: AbortSignal): Promise<void> {
    const { wait } = this.#options;
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
      const waiter: Waiter = { org, amount, admit: () => settle(resolve) };
      const stopClock = wait?.clock.after(wait.msMax, () => giveUp(wait.late()));
      signal.addEventListener('abort', leave, { once: true });
      this.#queue.push(waiter);
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
