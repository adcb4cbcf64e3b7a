// What a run holds of its org's and key's money: ten minutes ahead, each minute under the id of the event that will charge
// it, so that booking the event is the end of the hold, whatever became of the agent that took it. Where nothing limits
// what may be spent, billing is asked once in ten minutes, whether that is still so.
//
// Refused a further minute, the run ends with the last one that is held. Billing being away refuses nothing: the run goes
// on, and it is asked again.
import { type ComputerRecord, eventIds, ServiceError } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { CallHold, HoldKeeper } from '@switchyard/spending';
import { minuteCost } from './minutes.ts';

export const MINUTES_AHEAD = 10;
/** After a refusal, or without an answer: money may have come since, or billing be back. */
export const ASK_AGAIN_MS = 10_000;

export interface RunHoldsOptions {
  readonly keeper: Pick<HoldKeeper, 'open'>;
  readonly record: ComputerRecord;
  /** Number of the run. */
  readonly run: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RunHolds {
  readonly #on: RunHoldsOptions;
  readonly #price: bigint;
  readonly #held = new Map<number, CallHold>();
  readonly #over = new AbortController();
  /** Minutes of the run, from its first, that are held or free. */
  #covered = 0;
  /** Minutes of the run that are published: their money is spent, and no longer held. */
  #published = 0;
  #paidMinutes: number | null = null;
  #asking = false;
  #cancelAgain: (() => void) | null = null;

  constructor(options: RunHoldsOptions) {
    this.#on = options;
    this.#price = minuteCost(options.record);
  }

  /** Minutes of the run, from its first, after which it must end; null: no end is known. */
  get paidMinutes(): number | null {
    return this.#paidMinutes;
  }

  /**
   * Holds the first minute before the run begins.
   * @param limited whether something limits what may be spent; undefined: not known
   * @throws ServiceError `insufficient_funds`, `budget_exceeded`; `service_unavailable` when billing is away, and
   *   something limits the run for certain
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
   * Holds the minutes ahead of those that are published, as far as it is granted; `changed` is called when the end that is
   * known is another one.
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
        again(); // a minute may have ended just then
      else this.#cancelAgain = this.#on.clock.after(ASK_AGAIN_MS, again);
    });
  }

  /** A minute's event is about to be published: what was held for it is spent. */
  spend(minute: number): void {
    this.#held.get(minute)?.settle(this.#price);
    this.#held.delete(minute);
  }

  /** The run is over: what it holds is free again. */
  giveBack(): void {
    this.leave();
    for (const hold of this.#held.values()) hold.settle(0n);
    this.#held.clear();
  }

  /** The run goes on without this agent: the next one takes its holds again, before they have run out. */
  leave(): void {
    this.#over.abort(new ServiceError('service_unavailable', 'the run is over'));
    this.#cancelAgain?.();
  }

  #endAfter(minutes: number | null, changed: () => void): void {
    if (minutes === this.#paidMinutes) return;
    this.#paidMinutes = minutes;
    changed();
  }

  /** `all`: as far ahead as it may; a number: refused beyond these minutes; `unknown`: billing did not answer. */
  async #holdAhead(changed: () => void): Promise<'all' | 'unknown' | number> {
    try {
      while (this.#covered < this.#published + MINUTES_AHEAD) {
        await this.#take(Math.max(this.#covered, this.#published));
        // Each minute counts from its grant on: the end that was known may come before the last is answered.
        if (this.#paidMinutes !== null && !this.#over.signal.aborted) this.#endAfter(this.#covered, changed);
      }
      return 'all';
    } catch (error) {
      const { record, logger } = this.#on;
      // The minute that is on has begun, held or not.
      if (isRefusal(error)) return Math.max(this.#covered, this.#published + 1);
      if (!this.#over.signal.aborted)
        logger.debug({ err: error, computer: record.id }, 'minutes were not held; they will be');
      return 'unknown';
    }
  }

  async #take(minute: number): Promise<void> {
    const { keeper, record, run } = this.#on;
    const { id, org, key_id: keyId } = record;
    const hold = keeper.open({ org, keyId, call: eventIds.minute(id, run, minute), lasting: true });
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
