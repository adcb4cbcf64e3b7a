// Slots for requests. While all are taken, requests wait in one queue for each org, and the orgs take turns. A request
// that would wait too long is refused at once, which costs far less than serving it late. No org has all slots: others
// need not wait for its requests, which may last for minutes.
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

/** A burst may fill the queue for this long. After that, more arrives than can be served. */
export const BURST_MS_MAX = 2_000;
/** The longest wait while more arrives than can be served. */
export const OVERLOAD_WAIT_MS_MAX = 20;
/** Requests that wait. Beyond it, the org with the most waiting loses its latest. */
export const WAITING_MAX = 2_000;
/** Seconds after which a refused request may retry. */
const RETRY_AFTER_S = 1;

type Begin = (refused?: ServiceError) => void;

interface Waiting {
  readonly since: number;
  readonly begin: Begin;
}

interface OrgQueue {
  /** When its first request came; until then it was empty. */
  readonly emptyAt: number;
  readonly requests: Waiting[];
}

interface FairQueueDeps {
  /** Requests that may have begun and not ended. */
  readonly slots: number;
  /** The same for the requests of one org; more than half of the slots. Default: all. */
  readonly slotsPerOrg?: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

export class FairQueue {
  readonly #deps: FairQueueDeps;
  /** By org, in the order of their turns; no queue is empty. */
  readonly #queues = new Map<string, OrgQueue>();
  #taken = 0;
  readonly #takenBy = new Map<string, number>();
  /** When the first request came of those that wait for the slots of others. */
  #emptyAt = 0;
  #isWatched = false;
  /** Requests that wait now. */
  waiting = 0;
  /** Requests refused since the start. */
  refused = 0;

  constructor(deps: FairQueueDeps) {
    this.#deps = deps;
  }

  /** Calls `begin` when the request has a slot, which `leave` frees; or with `overloaded`, and then it has none. */
  enter(org: string, begin: Begin): void {
    if (this.#mayBegin(org)) {
      this.#take(org);
      begin();
      return;
    }
    const now = this.#deps.clock.monotonic();
    if (!this.#queues.keys().some((other) => this.#mayTakeMore(other))) this.#emptyAt = now;
    const queue = this.#queues.get(org) ?? { emptyAt: now, requests: [] };
    queue.requests.push({ since: now, begin });
    this.#queues.set(org, queue);
    this.waiting += 1;
    this.#watch();
    if (this.waiting > WAITING_MAX) this.#refuseLatestOfLongest();
  }

  /** Frees the slots of requests that have ended, by the org of each. */
  leave(...orgs: string[]): void {
    this.#taken -= orgs.length;
    for (const org of orgs) this.#takenBy.set(org, this.#slotsOf(org) - 1);
    for (const org of orgs) if (this.#slotsOf(org) <= 0) this.#takenBy.delete(org);
    this.#refuseLate();
    for (;;) {
      const next = this.#queues.keys().find((org) => this.#mayBegin(org));
      if (next === undefined) return;
      this.#take(next);
      this.#shift(next)?.begin();
    }
  }

  /** False without a free slot, or if the org has its maximum. */
  #mayBegin(org: string): boolean {
    return this.#taken < this.#deps.slots && this.#mayTakeMore(org);
  }

  /** False if the org has its maximum: its requests wait for its own, and others need not. */
  #mayTakeMore(org: string): boolean {
    const { slots, slotsPerOrg = slots } = this.#deps;
    return this.#slotsOf(org) < slotsPerOrg;
  }

  #slotsOf(org: string): number {
    return this.#takenBy.get(org) ?? 0;
  }

  #take(org: string): void {
    this.#taken += 1;
    this.#takenBy.set(org, this.#slotsOf(org) + 1);
  }

  /** Refuses late requests also while no slot is freed. */
  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#deps.clock.after(OVERLOAD_WAIT_MS_MAX, () => {
      this.#isWatched = false;
      this.#refuseLate();
      if (this.waiting > 0) this.#watch();
    });
  }

  /** Removes the first request of an org, which then waits for its next turn. */
  #shift(org: string): Waiting | undefined {
    const queue = this.#queues.get(org);
    const first = queue?.requests.shift();
    if (!queue || !first) return;
    this.#queues.delete(org);
    if (queue.requests.length > 0) this.#queues.set(org, queue);
    this.waiting -= 1;
    return first;
  }

  #refuseLate(): void {
    const now = this.#deps.clock.monotonic();
    for (const [org, { emptyAt, requests }] of this.#queues) {
      if (now - Math.min(emptyAt, this.#emptyAt) <= BURST_MS_MAX) continue;
      const inTime = requests.findIndex(({ since }) => now - since <= OVERLOAD_WAIT_MS_MAX);
      const late = requests.splice(0, inTime < 0 ? requests.length : inTime);
      if (requests.length === 0) this.#queues.delete(org);
      this.waiting -= late.length;
      for (const { begin } of late) this.#refuse(begin);
    }
  }

  #refuseLatestOfLongest(): void {
    let longest: [string, Waiting[]] | undefined;
    for (const [org, { requests }] of this.#queues)
      if (!longest || requests.length > longest[1].length) longest = [org, requests];
    const latest = longest?.[1].pop();
    if (!longest || !latest) return;
    if (longest[1].length === 0) this.#queues.delete(longest[0]);
    this.waiting -= 1;
    this.#refuse(latest.begin);
  }

  #refuse(begin: Begin): void {
    this.refused += 1;
    const message = `Too many requests to serve now. Retry after ${RETRY_AFTER_S} s.`;
    begin(new ServiceError('overloaded', message, { retryAfterS: RETRY_AFTER_S }));
  }
}
