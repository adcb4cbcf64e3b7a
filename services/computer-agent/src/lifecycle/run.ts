// A run that has not ended: its clocks, its commands, and when it ends by itself.
import { completedMinutes, MINUTE_MS, type StopReason, type TimedStops } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Container } from '../computer/container.ts';
import { Meter } from '../computer/meter.ts';
import type { BillableClock } from '../metering/billable-clock.ts';
import type { RunHolds } from '../metering/run-holds.ts';
import { ExecResults } from './exec-results.ts';
import type { RecoveredExecs } from './recovered-execs.ts';

export interface RunOptions {
  readonly container: Container;
  /** Money held for the run. */
  readonly holds: RunHolds;
  readonly clock: Clock;
  readonly billable: BillableClock;
  readonly limits: TimedStops;
  /** Billable milliseconds before this object was created; 0 for a new run. */
  readonly elapsedMs: number;
  /** Milliseconds since the run began, and since its last command ended. */
  readonly ageMs: number;
  readonly idleMs: number;
  /** Minutes of the run whose event is published. */
  readonly minutesPublished: number;
}

/** Why a run ends, and its billable milliseconds. */
export interface RunEnd {
  readonly reason: StopReason;
  readonly elapsedMs: number;
}

export class Run {
  readonly container: Container;
  readonly holds: RunHolds;
  /** Commands that an earlier agent started. */
  recovered: RecoveredExecs | null = null;
  readonly execResults: ExecResults;
  readonly meter: Meter;
  /** Minutes whose event is durable; the record may lag while its store is unavailable. */
  minutesPublished: number;
  /** Billable milliseconds that can be paid; the run ends there. */
  paidMs = Number.POSITIVE_INFINITY;
  /** Timers of run-watch.ts. */
  cancelLook: (() => void) | null = null;
  cancelRetry: (() => void) | null = null;
  cancelActivityWrite: (() => void) | null = null;
  /** Monotonic clock. */
  activityWrittenAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;
  readonly #billable: BillableClock;
  readonly #billableOrigin: number;
  readonly #limits: RunOptions['limits'];
  readonly #startedAt: number;
  #end: RunEnd | null = null;
  #busy = 0;
  #idleSince: number;

  constructor(options: RunOptions) {
    this.container = options.container;
    this.holds = options.holds;
    this.execResults = new ExecResults(options.container.init);
    this.meter = new Meter(options.container.init);
    this.minutesPublished = options.minutesPublished;
    this.#clock = options.clock;
    this.#billable = options.billable;
    this.#limits = options.limits;
    this.#billableOrigin = options.billable.now() - options.elapsedMs;
    this.#startedAt = options.clock.monotonic() - options.ageMs;
    this.#idleSince = options.clock.monotonic() - options.idleMs;
  }

  /** Whole billable milliseconds so far. */
  get elapsedMs(): number {
    return Math.floor(this.#billable.now() - this.#billableOrigin);
  }

  /** The container has ended by itself. */
  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** The container has ended by itself. Time until that is recorded is not billed. */
  setEnded(reason: 'exited' | 'out_of_memory'): void {
    this.#end = { reason, elapsedMs: this.endNow(reason).elapsedMs };
  }

  /** How the run ends if it ends now. `reason` applies unless the run has ended by itself or was due before. */
  endNow(reason: StopReason): RunEnd {
    return this.#end ?? this.due() ?? { reason, elapsedMs: this.elapsedMs };
  }

  /** This agent has no more to do with the run. `release`: the computer itself keeps running. */
  close({ release }: { release: boolean }): void {
    this.cancelLook?.();
    this.cancelRetry?.();
    this.cancelActivityWrite?.();
    this.recovered?.close();
    if (release) {
      this.container.release();
      this.holds.leave();
    } else this.holds.giveBack();
  }

  /** Marks the computer as busy until the returned function is called; further calls of it have no effect. */
  beginCommand(): () => void {
    this.#busy += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#busy -= 1;
      this.#idleSince = this.#clock.monotonic();
    };
  }

  /** Wall-clock time of the last command's end; null while one runs. */
  get idleSince(): Date | null {
    if (this.#busy > 0) return null;
    return new Date(this.#clock.now() - Math.round(this.#clock.monotonic() - this.#idleSince));
  }

  /** Whether the run must end now; if several reasons apply, the earliest. */
  due(): RunEnd | null {
    const due = this.#dueByClock();
    if (this.elapsedMs < this.paidMs || (due && due.elapsedMs <= this.paidMs)) return due;
    return { reason: 'insufficient_funds', elapsedMs: this.paidMs };
  }

  #dueByClock(): RunEnd | null {
    const now = this.#clock.monotonic();
    const lifetimeEnd = this.#startedAt + this.#limits.maxLifetimeMs;
    const idleEnd = this.#idleEnd;
    if (idleEnd <= now && idleEnd <= lifetimeEnd)
      return { reason: 'idle', elapsedMs: this.#elapsedAt(idleEnd) };
    if (lifetimeEnd <= now) return { reason: 'max_lifetime', elapsedMs: this.#elapsedAt(lifetimeEnd) };
    return null;
  }

  /** Milliseconds until the next check: the end of a minute or of the run. */
  nextLookMs(): number {
    const elapsed = this.elapsedMs;
    if (completedMinutes(elapsed) > this.minutesPublished) return 0;
    const toMinute = (completedMinutes(elapsed) + 1) * MINUTE_MS - elapsed;
    const now = this.#clock.monotonic();
    const toEnd = Math.min(this.#idleEnd, this.#startedAt + this.#limits.maxLifetimeMs) - now;
    return Math.max(0, Math.ceil(Math.min(toMinute, toEnd, this.paidMs - elapsed)));
  }

  get #idleEnd(): number {
    return this.#busy > 0 ? Infinity : this.#idleSince + this.#limits.idleStopMs;
  }

  /** Timers are late: time beyond the announced end is not billed. */
  #elapsedAt(end: number): number {
    return Math.max(0, Math.floor(this.#billable.at(end) - this.#billableOrigin));
  }
}
