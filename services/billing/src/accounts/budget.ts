// One spending limit: the credits or monthly limit of an org, or the daily, weekly or monthly limit of a key. Pure:
// callers report holds, settlements and bookings. All amounts are nano-dollars.

/** The period in which spending counts. For a balance of credits it is all of time. */
export interface Window {
  /** Milliseconds since the epoch; spending before it does not count. */
  readonly start: number;
  /** Exclusive; the next window starts here. */
  readonly end: number;
}

interface BudgetOptions {
  /** Maximum spending in one window: the limit, or the credits granted so far. */
  readonly limit: bigint;
  /** Amount already in the ledger. */
  readonly spent: bigint;
  readonly windowAt: (time: number) => Window;
  readonly now: number;
}

export class Budget {
  #limit: bigint;
  #spent: bigint;
  #window: Window;
  #windowAt: BudgetOptions['windowAt'];
  /** Call id -> the most that the call may cost, as currently known. */
  readonly #held = new Map<string, { amount: bigint; lasting: boolean }>();
  /** Number of holds that may still shrink. */
  #passing = 0;
  /** Event id -> its cost, until the event is in the ledger. */
  readonly #settled = new Map<string, bigint>();
  /** Spending in windows that have not begun, by window start: other clocks may be ahead. */
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

  /** Amount that another call may hold; negative when a call cost more than it held. */
  get available(): bigint {
    return this.#limit - this.#spent - this.#settledSum - this.#heldSum;
  }

  /** Whether the hold of another call may still shrink. */
  heldByOthers(call: string): boolean {
    const own = this.#held.get(call);
    return this.#passing > (own && !own.lasting ? 1 : 0);
  }

  /** Sets a changed limit, or the new total of credits. */
  setLimit(limit: bigint): void {
    this.#limit = limit;
  }

  /** Replaces the terms or reloads them. Held and settled amounts still count. */
  redefine({ limit, spent, windowAt, now }: BudgetOptions): void {
    this.#limit = limit;
    this.#spent = spent;
    this.#windowAt = windowAt;
    this.#window = windowAt(now);
  }

  /**
   * Holds this amount for a call and replaces the call's previous hold.
   * @param lasting the hold does not shrink in the next seconds, so no call should wait for it
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

  /** Records that the call ended at this cost. Its event, of the same id, is on the way to the ledger. */
  settle(call: string, cost: bigint): void {
    this.release(call);
    if (cost === 0n || this.#settled.has(call)) return;
    this.#settled.set(call, cost);
    this.#settledSum += cost;
  }

  /**
   * Moves a settled amount to spent: its event is in the ledger. The event's time never starts a window, because a
   * wrong clock would then erase all spending.
   * @param chargedAt of a refund: the time of its charge. The refund counts only in the window of its charge
   */
  booked(event: string, cost: bigint, at: number, chargedAt = at): void {
    this.unsettle(event);
    if (at < this.#window.start) return;
    const { start } = at < this.#window.end ? this.#window : this.#windowAt(at);
    if (chargedAt < start) return;
    if (start === this.#window.start) this.#spent += cost;
    else this.#ahead.set(start, (this.#ahead.get(start) ?? 0n) + cost);
  }

  get settledEvents(): string[] {
    return [...this.#settled.keys()];
  }

  /** Stops counting the settled amount of an event that never arrived. */
  unsettle(event: string): void {
    const amount = this.#settled.get(event);
    if (amount === undefined) return;
    this.#settled.delete(event);
    this.#settledSum -= amount;
  }

  /** Starts a new window with the amounts already booked for it. Held and settled amounts still count. */
  pass(now: number): void {
    if (now < this.#window.end) return;
    this.#window = this.#windowAt(now);
    this.#spent = this.#ahead.get(this.#window.start) ?? 0n;
    for (const start of this.#ahead.keys()) if (start <= this.#window.start) this.#ahead.delete(start);
  }
}
