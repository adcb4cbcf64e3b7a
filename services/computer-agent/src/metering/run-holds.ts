// Holds money of a run's org and key for ten minutes ahead. Each hold has the id of the event that will charge the
// minute, so booking the event ends the hold, even after the agent has died. Without a spending limit, billing is
// asked every ten minutes whether this is still so.
//
// When a further minute is refused, the run ends with the last held minute. While billing is down the run continues
// and the request is repeated.
import { type ComputerRecord, eventIds, MINUTES_AHEAD, ServiceError } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { CallHold, HoldKeeper } from '@switchyard/spending';
import { minuteCost } from './minutes.ts';

/** Delay after a refusal or an outage: money may have arrived, or billing may be back. */
export const ASK_AGAIN_MS = 10_000;

export interface RunHoldsDeps {
  readonly keeper: Pick<HoldKeeper, 'open'>;
  readonly record: ComputerRecord;
  /** Number of the run. */
  readonly run: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RunHolds {
  readonly #deps: RunHoldsDeps;
  readonly #price: bigint;
  readonly #held = new Map<number, CallHold>();
  readonly #over = new AbortController();
  /** Minutes of the run, from its first, that are held or need no hold. */
  #covered = 0;
  /** Published minutes of the run: their money is spent, and no longer held. */
  #published = 0;
  #paidMinutes: number | null = null;
  #asking = false;
  #cancelAgain: (() => void) | null = null;

  constructor(deps: RunHoldsDeps) {
    this.#deps = deps;
    this.#price = minuteCost(deps.record);
  }

  /** Minutes of the run, from its first, after which it must end; null: unknown. */
  get paidMinutes(): number | null {
    return this.#paidMinutes;
  }

  /**
   * Holds the first minute before the run begins.
   * @param limited whether a spending limit applies; undefined: not known
   * @throws ServiceError `insufficient_funds`, `budget_exceeded`; `service_unavailable` when billing is down and a
   * limit certainly applies
   */
  async begin(limited: boolean | undefined): Promise<void> {
    if (limited === false) {
      this.#covered = MINUTES_AHEAD;
      return;
    }
    try {
      await this.#take(0);
    } catch (error) {
      if (limited || isRefusal(error)) throw error;
    }
  }

  /**
   * Holds minutes ahead of the published ones, as far as granted. Calls `changed` when the known end of the run
   * changes.
   */
  keepAhead(published: number, changed: () => void): void {
    this.#published = published;
    if (this.#asking || this.#over.signal.aborted || this.#covered >= published + MINUTES_AHEAD) return;
    this.#asking = true;
    this.#cancelAgain?.();
    this.#cancelAgain = null;
    void this.#holdAhead(changed).then((paidMinutes) => {
      this.#asking = false;
      if (this.#over.signal.aborted) return;
      if (paidMinutes !== 'unknown') this.#endAfter(paidMinutes === 'all' ? null : paidMinutes, changed);
      const again = () => this.keepAhead(this.#published, changed);
      if (paidMinutes === 'all')
        again(); // a minute may have ended meanwhile
      else this.#cancelAgain = this.#deps.clock.after(ASK_AGAIN_MS, again);
    });
  }

  /** A minute's event is about to be published: its hold is spent. */
  spend(minute: number): void {
    this.#held.get(minute)?.settle(this.#price);
    this.#held.delete(minute);
  }

  /** The run is over: releases its holds. */
  giveBack(): void {
    this.leave();
    for (const hold of this.#held.values()) hold.settle(0n);
    this.#held.clear();
  }

  /** The run continues without this agent; the next agent renews its holds before they expire. */
  leave(): void {
    this.#over.abort(new ServiceError('service_unavailable', 'the run is over'));
    this.#cancelAgain?.();
  }

  #endAfter(minutes: number | null, changed: () => void): void {
    if (minutes === this.#paidMinutes) return;
    this.#paidMinutes = minutes;
    changed();
  }

  /** `all`: everything is held; a number: refused beyond these minutes; `unknown`: billing did not answer. */
  async #holdAhead(changed: () => void): Promise<'all' | 'unknown' | number> {
    try {
      while (this.#covered < this.#published + MINUTES_AHEAD) {
        await this.#take(Math.max(this.#covered, this.#published));
        // Each minute counts as soon as it is granted, because the known end may come before the last answer.
        if (this.#paidMinutes !== null && !this.#over.signal.aborted) this.#endAfter(this.#covered, changed);
      }
      return 'all';
    } catch (error) {
      const { record, logger } = this.#deps;
      // The current minute has begun, held or not.
      if (isRefusal(error)) return Math.max(this.#covered, this.#published + 1);
      if (!this.#over.signal.aborted)
        logger.debug({ err: error, computer: record.id }, 'minutes were not held; retrying');
      return 'unknown';
    }
  }

  async #take(minute: number): Promise<void> {
    const { keeper, record, run } = this.#deps;
    const { id, org, key_id: keyId } = record;
    const hold = keeper.open({ org, keyId, call: eventIds.minute(id, run, minute) });
    this.#held.set(minute, hold);
    try {
      await hold.take(this.#price, true, this.#over.signal);
    } catch (error) {
      this.#held.delete(minute);
      throw error;
    }
    if (hold.granted === null) this.#held.delete(minute);
    this.#covered = minute + (hold.granted === null ? MINUTES_AHEAD : 1);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 402;
}
