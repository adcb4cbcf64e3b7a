// One limit on spending: what an org may still spend of its credits or in a month, or a key in its day, week or month.
// Pure: it is told what was held, settled and booked, and says what is left. All amounts are nano-dollars.

/** The part of time in which spending counts; a balance of credits counts all of it. */
export interface Window {
  /** Milliseconds since the epoch; spending before it does not count. */
  readonly start: number;
  /** From here on the next window counts. */
  readonly end: number;
}

export interface BudgetOptions {
  /** What may be spent in one window: a limit, or the credits granted so far. */
  readonly limit: bigint;
  /** What the ledger holds of it already. */
  readonly spent: bigint;
  readonly windowAt: (time: number) => Window;
  readonly now: number;
}

export class Budget {
  #limit: bigint;
  #spent: bigint;
  #window: Window;
  #windowAt: BudgetOptions['windowAt'];
  /** Call id -> what it may cost at the most as far as anybody knows yet. */
  readonly #held = new Map<string, { amount: bigint; lasting: boolean }>();
  /** Holds that may yet turn out smaller. */
  #passing = 0;
  /** Event id -> its cost, until the ledger has it. */
  readonly #settled = new Map<string, bigint>();
  /** Spent in windows that have not begun, by their start: the clocks of others may be ahead. */
  readonly #ahead = new Map<number, bigint>();
  #heldSum = 0n;
  #settledSum = 0n;

  constructor({ limit, spent, windowAt, now }: BudgetOptions) {
    this.#limit = limit;
    this.#spent = spent;
    this.#windowAt = windowAt;
    this.#window = windowAt(now);
  }

  get spent(): bigint {
    return this.#spent + this.#settledSum;
  }

  get held(): bigint {
    return this.#heldSum;
  }

  get limit(): bigint {
    return this.#limit;
  }

  get window(): Window {
    return this.#window;
  }

  /** What another call may hold; below zero where a call cost more than it held. */
  get available(): bigint {
    return this.#limit - this.#spent - this.#settledSum - this.#heldSum;
  }

  /** Whether somebody else's hold may yet turn out smaller than it is. */
  heldByOthers(call: string): boolean {
    const own = this.#held.get(call);
    return this.#passing > (own && !own.lasting ? 1 : 0);
  }

  /** A limit that was changed, or credits that were added. */
  setLimit(limit: bigint): void {
    this.#limit = limit;
  }

  /** Other terms, or the same read anew; what is held and settled goes on counting. */
  redefine({ limit, spent, windowAt, now }: BudgetOptions): void {
    this.#limit = limit;
    this.#spent = spent;
    this.#windowAt = windowAt;
    this.#window = windowAt(now);
  }

  /**
   * Holds this much for a call, in the place of what it held.
   * @param lasting it will not turn out smaller in the next seconds: waiting for it is in vain
   */
  hold(call: string, amount: bigint, lasting = false): void {
    this.release(call);
    this.#held.set(call, { amount, lasting });
    this.#heldSum += amount;
    if (!lasting) this.#passing += 1;
  }

  holdOf(call: string): bigint {
    return this.#held.get(call)?.amount ?? 0n;
  }

  release(call: string): void {
    const held = this.#held.get(call);
    if (!held) return;
    this.#held.delete(call);
    this.#heldSum -= held.amount;
    if (!held.lasting) this.#passing -= 1;
  }

  /** The call is over and cost this; its event is on the way to the ledger. */
  settle(call: string, event: string, cost: bigint): void {
    this.release(call);
    if (cost === 0n || this.#settled.has(event)) return;
    this.#settled.set(event, cost);
    this.#settledSum += cost;
  }

  /**
   * An event is in the ledger: what was settled for it counts as spent from now on. Its time begins no window: one that is
   * wrong would make all that was spent forgotten.
   */
  booked(event: string, cost: bigint, at: number): void {
    this.unsettle(event);
    if (at < this.#window.start) return;
    if (at < this.#window.end) this.#spent += cost;
    else {
      const { start } = this.#windowAt(at);
      this.#ahead.set(start, (this.#ahead.get(start) ?? 0n) + cost);
    }
  }

  get settledEvents(): string[] {
    return [...this.#settled.keys()];
  }

  /** What was settled for an event that did not come: it counts no longer. */
  unsettle(event: string): void {
    const amount = this.#settled.get(event);
    if (amount === undefined) return;
    this.#settled.delete(event);
    this.#settledSum -= amount;
  }

  /** A new window begins with what was booked ahead of it; what is held and settled goes on counting. */
  pass(now: number): void {
    if (now < this.#window.end) return;
    this.#window = this.#windowAt(now);
    this.#spent = this.#ahead.get(this.#window.start) ?? 0n;
    for (const start of this.#ahead.keys()) if (start <= this.#window.start) this.#ahead.delete(start);
  }
}
