// Admission of calls that have a limit: each call of a limited org or key holds its maximum cost before it runs. A call
// that does not fit waits while other holds may still shrink, and is refused otherwise. Pure; no I/O.
import { MINUTES_AHEAD, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Budget } from './budget.ts';

/** How long a call waits for other holds to shrink. */
export const HOLD_WAIT_MS_MAX = 10_000;
/** A hold that was not renewed for this long belongs to a dead process. */
export const HOLD_LEASE_MS = 6_000;
/** How often holds are swept. */
export const SWEEP_MS = 1_000;
/** A sweep later than this means that billing was paused: renewals that arrived meanwhile are not read yet. */
const SWEEP_LATE_MS = 2 * SWEEP_MS;
/** A settled cost whose event is not booked after this long is overdue: the event may have been lost. */
export const SETTLED_MS_MAX = 120_000;
/** Minutes of a computer that may be held or unbooked: those of its run, and as many of ending runs. */
export const COMPUTER_MINUTES_MAX = 2 * MINUTES_AHEAD;

/** A budget, and the error for a call that the budget refuses. */
export interface Limit {
  readonly budget: Budget;
  readonly refusal: () => ServiceError;
}

export interface HoldRequest {
  /** Id of the event that will charge the call. A second request under the same id resizes the hold. */
  readonly call: string;
  /** Waiting calls of one org are re-evaluated together. */
  readonly org: string;
  readonly limits: readonly Limit[];
  /** Nano-dollars. */
  readonly amount: bigint;
  /** The amount is the price, not an estimate: a call that does not fit is refused even when nothing else is held. */
  readonly exact: boolean;
  /** The computer whose minute is held. The hold does not shrink in the next seconds, so no call waits for it. */
  readonly computer?: string;
}

interface Hold {
  readonly granted: bigint;
  /** The hold is smaller than requested: the call is alone with what is left, and must be kept within it. */
  readonly capped: boolean;
}

interface Held {
  readonly org: string;
  readonly limits: readonly Limit[];
  renewedAt: number;
}

interface Waiting {
  readonly request: HoldRequest;
  readonly settle: (outcome: Hold | ServiceError) => void;
}

export class HoldDesk {
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Event id -> the limits in which its cost counts as settled, and since when. */
  readonly #settled = new Map<string, { limits: readonly Limit[]; since: number }>();
  #sweptAt: number;
  #open = false;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAt = clock.monotonic();
  }

  /** Starts granting holds. A new owner first learns existing holds and past spending. */
  open(): void {
    this.#open = true;
    for (const org of [...this.#waiting.keys()]) this.wake(org);
  }

  /**
   * Holds the amount, or what is left when the call is alone. Waits for at most `HOLD_WAIT_MS_MAX`.
   * @throws the error of the limit that refuses the call; ServiceError `service_unavailable` when the signal ends
   */
  take(request: HoldRequest, signal?: AbortSignal): Promise<Hold> {
    if (this.#closed) return Promise.reject(moving());
    if (signal?.aborted) return Promise.reject(cancelled());
    const now = this.#try(request);
    if (now instanceof ServiceError) return Promise.reject(now);
    if (now) return Promise.resolve(now);
    return this.#wait(request, signal);
  }

  /** Renews the hold of a call. @returns false when the call holds nothing here */
  renewed(call: string): boolean {
    const held = this.#held.get(call);
    if (held) held.renewedAt = this.#clock.monotonic();
    return held !== undefined;
  }

  /** Restores a hold that was granted before, perhaps by an earlier owner. Skips the check whether it fits. */
  renew(request: HoldRequest): void {
    if (!this.renewed(request.call) && !this.#isFull(request)) this.#hold(request, request.amount);
  }

  /** Records the cost of a call that ended; `call` is also the id under which the ledger will have it. Idempotent. */
  settle(call: string, cost: bigint): void {
    const held = this.#held.get(call);
    if (!held) return;
    this.#held.delete(call);
    for (const { budget } of held.limits) budget.settle(call, cost);
    if (cost > 0n) this.#settled.set(call, { limits: held.limits, since: this.#clock.monotonic() });
    this.wake(held.org);
  }

  /**
   * Drops the settled amount of an event that the ledger and its budgets now include. Also ends the hold of its call if
   * no settlement was received.
   */
  booked(event: string, org: string): void {
    this.#settled.delete(event);
    const held = this.#held.get(event);
    if (held) {
      this.#held.delete(event);
      for (const { budget } of held.limits) budget.release(event);
    }
    this.wake(org);
  }

  /** The ledger has the event, although its batch failed half-way. Its budgets count it until they are read again. */
  foundBooked(event: string): void {
    this.#settled.delete(event);
  }

  /**
   * Re-evaluates the waiting calls of an org, as after a limit was raised. First come, first served; a call that does not
   * fit yet does not block a smaller one.
   */
  wake(org: string): void {
    for (const { request, settle } of [...(this.#waiting.get(org) ?? [])]) {
      const outcome = this.#try(request);
      if (outcome) settle(outcome);
    }
  }

  /** Ends expired holds; a pause of billing does not count. @returns ids of their calls, whose router is dead */
  sweep(): string[] {
    const now = this.#clock.monotonic();
    const sinceMs = now - this.#sweptAt;
    if (sinceMs > SWEEP_LATE_MS)
      for (const held of this.#held.values())
        held.renewedAt = Math.min(now, held.renewedAt + sinceMs - SWEEP_MS);
    this.#sweptAt = now;
    const lost = [...this.#held].filter(([, { renewedAt }]) => now - renewedAt > HOLD_LEASE_MS);
    for (const [call, { limits }] of lost) {
      this.#held.delete(call);
      for (const { budget } of limits) budget.release(call);
    }
    for (const org of [...this.#waiting.keys()]) this.wake(org);
    return lost.map(([call]) => call);
  }

  /** Ids of the settled events that are not booked in time. They count until they are booked or dropped. */
  get overdue(): string[] {
    return [...this.#settled].filter(([, { since }]) => this.#isOverdue(since)).map(([event]) => event);
  }

  /** Stops counting settled events that never came. @returns ids of those that were not booked meanwhile */
  drop(events: readonly string[]): string[] {
    const lost = events.filter((event) => this.#settled.has(event));
    for (const event of lost) {
      for (const { budget } of this.#settled.get(event)?.limits ?? []) budget.unsettle(event);
      this.#settled.delete(event);
    }
    for (const org of [...this.#waiting.keys()]) this.wake(org);
    return lost;
  }

  /** Refuses all waiting calls, and those that come later, because this owner has lost the partition. */
  close(): void {
    this.#open = false;
    this.#closed = true;
    for (const calls of this.#waiting.values()) for (const { settle } of [...calls]) settle(moving());
  }

  /** Returns the hold, or the refusal, or null when the call may fit later. */
  #try(request: HoldRequest): Hold | ServiceError | null {
    if (!this.#open) return null;
    const { call, limits, amount, exact } = request;
    if (this.#isFull(request))
      return new ServiceError(
        'service_unavailable',
        'Too many minutes of this computer are held. Retry later.',
      );
    const now = this.#clock.now();
    const room = (budget: Budget) => budget.available + budget.holdOf(call);
    for (const { budget } of limits) budget.pass(now);
    const tight = limits.filter(({ budget }) => room(budget) < amount);
    if (tight.length === 0) {
      this.#hold(request, amount);
      return { granted: amount, capped: false };
    }
    // A limit is hopeless when no other hold in it can shrink: waiting frees nothing.
    const hopeless = tight.find(({ budget }) => !budget.heldByOthers(call) && (exact || room(budget) <= 0n));
    if (hopeless) return hopeless.refusal();
    if (tight.some(({ budget }) => budget.heldByOthers(call))) return null;
    const left = smallest(tight.map(({ budget }) => room(budget)));
    this.#hold(request, left);
    return { granted: left, capped: true };
  }

  #isOverdue(since: number): boolean {
    return this.#clock.monotonic() - since > SETTLED_MS_MAX;
  }

  /**
   * Whether a computer has as many minutes as it may have, besides this one. Overdue ones do not count: a computer keeps
   * running while booking is stalled.
   */
  #isFull({ call, computer }: HoldRequest): boolean {
    if (computer === undefined || this.#held.has(call)) return false;
    const isMinute = (id: string) => id.startsWith(`${computer}:`);
    let minutes = 0;
    for (const id of this.#held.keys()) if (isMinute(id)) minutes += 1;
    for (const [id, { since }] of this.#settled) if (isMinute(id) && !this.#isOverdue(since)) minutes += 1;
    return minutes >= COMPUTER_MINUTES_MAX;
  }

  #hold({ call, org, limits, computer }: HoldRequest, amount: bigint): void {
    // A limit may have been removed since the call's last hold, and would keep it for ever.
    for (const { budget } of this.#held.get(call)?.limits ?? []) budget.release(call);
    for (const { budget } of limits) budget.hold(call, amount, computer !== undefined);
    this.#held.set(call, { org, limits, renewedAt: this.#clock.monotonic() });
  }

  #wait(request: HoldRequest, signal: AbortSignal | undefined): Promise<Hold> {
    const { org } = request;
    return new Promise((resolve, reject) => {
      const calls = this.#waiting.get(org) ?? new Set<Waiting>();
      this.#waiting.set(org, calls);
      const waiting: Waiting = {
        request,
        settle: (outcome) => {
          calls.delete(waiting);
          if (calls.size === 0) this.#waiting.delete(org);
          cancelClock();
          signal?.removeEventListener('abort', gone);
          if (outcome instanceof ServiceError) reject(outcome);
          else resolve(outcome);
        },
      };
      const gone = () => waiting.settle(cancelled());
      const cancelClock = this.#clock.after(HOLD_WAIT_MS_MAX, () => waiting.settle(this.#outOfTime(request)));
      calls.add(waiting);
      signal?.addEventListener('abort', gone, { once: true });
    });
  }

  #outOfTime({ limits, amount }: HoldRequest): ServiceError {
    if (!this.#open)
      return new ServiceError('service_unavailable', 'budgets are being read', { retryAfterS: 1 });
    const tight = limits.find(({ budget }) => budget.available < amount) ?? limits[0];
    return tight?.refusal() ?? new ServiceError('service_unavailable', 'the budget could not be read');
  }
}

function moving(): ServiceError {
  return new ServiceError('service_unavailable', 'budgets are moving to another instance', {
    retryAfterS: 1,
  });
}

function cancelled(): ServiceError {
  return new ServiceError('service_unavailable', 'the caller went away while it waited');
}

function smallest(amounts: readonly bigint[]): bigint {
  let least = amounts[0] ?? 0n;
  for (const amount of amounts) if (amount < least) least = amount;
  return least;
}
