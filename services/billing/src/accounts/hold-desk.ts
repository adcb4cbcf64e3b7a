// Who may spend how much: every call of an org or a key with a limit holds what it may cost before it is made. A call
// that does not fit waits while others hold more than they may need, and is refused when nothing could make room for
// it any more. Pure: told the time, asks nobody.
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Budget } from './budget.ts';

/** How long a call waits for others to cost less than they hold. */
export const HOLD_WAIT_MS_MAX = 10_000;
/** A hold that nobody has renewed for this long belonged to a process that is gone. */
export const HOLD_LEASE_MS = 6_000;
/** A settled cost whose event has not come for this long will not come. */
export const SETTLED_MS_MAX = 120_000;

/** A budget, and what a call is told that it is refused by. */
export interface Limit {
  readonly budget: Budget;
  readonly refusal: () => ServiceError;
}

export interface HoldRequest {
  /** Id of the call; asked for again under the same id, its hold is made larger or smaller. */
  readonly call: string;
  /** Waiting calls of one org are looked at together. */
  readonly org: string;
  readonly limits: readonly Limit[];
  /** Nano-dollars. */
  readonly amount: bigint;
  /** The amount is the price and no estimate: what does not fit is refused, even where nothing else is held. */
  readonly exact: boolean;
  /** It will not turn out smaller in the next seconds (a computer's minute): nobody waits for what it holds. */
  readonly lasting: boolean;
}

export interface Hold {
  readonly granted: bigint;
  /** Less than was asked for: the call is alone with what is left, and must be kept within it. */
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
  /** Event id -> where it counts as settled, and since when. */
  readonly #settled = new Map<string, { limits: readonly Limit[]; since: number }>();
  #open = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nothing is granted before: a new owner first learns what is held and what was spent. */
  open(): void {
    this.#open = true;
    for (const org of [...this.#waiting.keys()]) this.#wake(org);
  }

  get size(): number {
    return this.#held.size;
  }

  get waiting(): number {
    let count = 0;
    for (const calls of this.#waiting.values()) count += calls.size;
    return count;
  }

  /**
   * Holds the amount, or what is left for a call that is alone; waits for at most `HOLD_WAIT_MS_MAX`.
   * @throws the refusal of the limit that it does not fit in; ServiceError `service_unavailable` when the signal ends.
   */
  take(request: HoldRequest, signal?: AbortSignal): Promise<Hold> {
    const now = this.#try(request);
    if (now instanceof ServiceError) return Promise.reject(now);
    if (now) return Promise.resolve(now);
    return this.#wait(request, signal);
  }

  /** @returns whether the call holds something here: then it goes on. */
  renewed(call: string): boolean {
    const held = this.#held.get(call);
    if (held) held.renewedAt = this.#clock.monotonic();
    return held !== undefined;
  }

  /** Repeats a hold that was granted, perhaps by an earlier owner: it is given without asking whether it fits. */
  renew(request: HoldRequest): void {
    if (!this.renewed(request.call)) this.#hold(request, request.amount);
  }

  /** The call has ended and cost this much; `event` is what the ledger will know it by. Idempotent. */
  settle(call: string, event: string, cost: bigint): void {
    const held = this.#held.get(call);
    if (!held) return;
    this.#held.delete(call);
    for (const { budget } of held.limits) budget.settle(call, event, cost);
    if (cost > 0n) this.#settled.set(event, { limits: held.limits, since: this.#clock.monotonic() });
    this.#wake(held.org);
  }

  /**
   * The ledger has the event, and its budgets know it: nothing is settled for it any more, and where its call still
   * holds something (its end was not told), that is over too.
   */
  booked(event: string, org: string): void {
    this.#settled.delete(event);
    const held = this.#held.get(event);
    if (held) {
      this.#held.delete(event);
      for (const { budget } of held.limits) budget.release(event);
    }
    this.#wake(org);
  }

  /** More may fit than before: credits were added, a limit was raised. */
  changed(org: string): void {
    this.#wake(org);
  }

  /**
   * Ends what nobody has renewed.
   * @returns ids of events that were settled and never came to the ledger, and of calls whose router is gone
   */
  sweep(): { lostCalls: string[]; lostEvents: string[] } {
    const now = this.#clock.monotonic();
    const lostCalls = [...this.#held].filter(([, { renewedAt }]) => now - renewedAt > HOLD_LEASE_MS);
    for (const [call, { limits }] of lostCalls) {
      this.#held.delete(call);
      for (const { budget } of limits) budget.release(call);
    }
    const lostEvents = [...this.#settled].filter(([, { since }]) => now - since > SETTLED_MS_MAX);
    for (const [event, { limits }] of lostEvents) {
      this.#settled.delete(event);
      for (const { budget } of limits) budget.unsettle(event);
    }
    for (const org of [...this.#waiting.keys()]) this.#wake(org);
    return { lostCalls: lostCalls.map(([call]) => call), lostEvents: lostEvents.map(([event]) => event) };
  }

  /** Refuses all that wait: this owner is one no longer. */
  close(): void {
    this.#open = false;
    const gone = new ServiceError('service_unavailable', 'budgets are moving to another instance', {
      retryAfterS: 1,
    });
    for (const calls of this.#waiting.values()) for (const { settle } of [...calls]) settle(gone);
  }

  /** The hold, a refusal, or null: it may fit later. */
  #try(request: HoldRequest): Hold | ServiceError | null {
    if (!this.#open) return null;
    const { call, limits, amount, exact } = request;
    const now = this.#clock.now();
    const room = (budget: Budget) => budget.available + budget.holdOf(call);
    for (const { budget } of limits) budget.pass(now);
    const tight = limits.filter(({ budget }) => room(budget) < amount);
    if (tight.length === 0) {
      this.#hold(request, amount);
      return { granted: amount, capped: false };
    }
    // Where others hold something, it may be more than they will cost.
    const hopeless = tight.find(({ budget }) => !budget.heldByOthers(call) && (exact || room(budget) <= 0n));
    if (hopeless) return hopeless.refusal();
    if (tight.some(({ budget }) => budget.heldByOthers(call))) return null;
    const left = smallest(tight.map(({ budget }) => room(budget)));
    this.#hold(request, left);
    return { granted: left, capped: true };
  }

  #hold({ call, org, limits, lasting }: HoldRequest, amount: bigint): void {
    for (const { budget } of limits) budget.hold(call, amount, lasting);
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
      const gone = () =>
        waiting.settle(new ServiceError('service_unavailable', 'the caller went away while it waited'));
      const cancelClock = this.#clock.after(HOLD_WAIT_MS_MAX, () => waiting.settle(this.#outOfTime(request)));
      calls.add(waiting);
      signal?.addEventListener('abort', gone, { once: true });
      if (signal?.aborted) gone();
    });
  }

  #outOfTime({ limits, amount }: HoldRequest): ServiceError {
    if (!this.#open)
      return new ServiceError('service_unavailable', 'budgets are being read', { retryAfterS: 1 });
    const tight = limits.find(({ budget }) => budget.available < amount) ?? limits[0];
    return tight?.refusal() ?? new ServiceError('service_unavailable', 'the budget could not be read');
  }

  /** First come, first served; one that does not fit yet does not keep a smaller one from what is left. */
  #wake(org: string): void {
    for (const { request, settle } of [...(this.#waiting.get(org) ?? [])]) {
      const outcome = this.#try(request);
      if (outcome) settle(outcome);
    }
  }
}

function smallest(amounts: readonly bigint[]): bigint {
  let least = amounts[0] ?? 0n;
  for (const amount of amounts) if (amount < least) least = amount;
  return least;
}
