// A run of a computer that is on: its clocks, its commands, and when it ends by itself. No lock, no record, no Docker
// in here: only time.
import { type ComputerLimits, completedMinutes, MINUTE_MS } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { RunningComputer } from '../computer/computer-host.ts';
import { Meter } from '../computer/meter.ts';
import type { BillableClock } from '../metering/billable-clock.ts';
import { ExecResults } from './exec-results.ts';

export interface LiveRunOptions {
  readonly computer: RunningComputer;
  readonly clock: Clock;
  readonly billable: BillableClock;
  readonly limits: Pick<ComputerLimits, 'idleStopMs' | 'maxLifetimeMs'>;
  /** Billable milliseconds that the run has behind it: 0 when it begins now. */
  readonly elapsedMs: number;
  /** Milliseconds since the run began, and since its last command ended. */
  readonly ageMs: number;
  readonly idleMs: number;
  /** Minutes of the run whose event is published. */
  readonly minutesPublished: number;
}

/** Why a run must end now, and with how many billable milliseconds. */
export interface Due {
  readonly reason: 'idle' | 'max_lifetime' | 'insufficient_funds';
  readonly elapsedMs: number;
}

export class LiveRun {
  readonly computer: RunningComputer;
  readonly execResults: ExecResults;
  readonly meter: Meter;
  /** Minutes whose event is durable; the record may be behind while its store is away. */
  minutesPublished: number;
  /** Its container has ended by itself: nothing of the computer runs any more. */
  hasEnded = false;
  /** Billable milliseconds of the run that may be paid for: it ends there. */
  paidMs = Number.POSITIVE_INFINITY;
  readonly #clock: Clock;
  readonly #billable: BillableClock;
  readonly #billableOrigin: number;
  readonly #limits: LiveRunOptions['limits'];
  readonly #startedAt: number;
  #busy = 0;
  #idleSince: number;

  constructor(options: LiveRunOptions) {
    this.computer = options.computer;
    this.execResults = new ExecResults(options.computer);
    this.meter = new Meter(options.computer);
    this.minutesPublished = options.minutesPublished;
    this.#clock = options.clock;
    this.#billable = options.billable;
    this.#limits = options.limits;
    this.#billableOrigin = options.billable.now() - options.elapsedMs;
    this.#startedAt = options.clock.monotonic() - options.ageMs;
    this.#idleSince = options.clock.monotonic() - options.idleMs;
  }

  /** Billable milliseconds so far, whole ones. */
  get elapsedMs(): number {
    return Math.floor(this.#billable.now() - this.#billableOrigin);
  }

  /** A command begins: the computer is busy until the returned function is called, which counts once. */
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

  /** Whether the run must end, by the clock as it is now: for the first of the reasons that there are. */
  due(): Due | null {
    const due = this.#dueByClock();
    if (this.elapsedMs < this.paidMs || (due && due.elapsedMs <= this.paidMs)) return due;
    return { reason: 'insufficient_funds', elapsedMs: this.paidMs };
  }

  #dueByClock(): Due | null {
    const now = this.#clock.monotonic();
    const lifetimeEnd = this.#startedAt + this.#limits.maxLifetimeMs;
    const idleEnd = this.#idleEnd;
    if (idleEnd <= now && idleEnd <= lifetimeEnd)
      return { reason: 'idle', elapsedMs: this.#elapsedAt(idleEnd) };
    if (lifetimeEnd <= now) return { reason: 'max_lifetime', elapsedMs: this.#elapsedAt(lifetimeEnd) };
    return null;
  }

  /** Milliseconds until the clock must be looked at again: a minute's end or the run's. */
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

  /** A timer is always a little late: what ran beyond the end that was announced is not billed. */
  #elapsedAt(end: number): number {
    return Math.max(0, Math.floor(this.#billable.at(end) - this.#billableOrigin));
  }
}
