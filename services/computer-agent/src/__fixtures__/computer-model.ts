// What a computer of a host must be after any sequence of calls and faults: its state, its minutes, the events of its
// life. Pure, and without a step in between: what is true when everything has come to rest.
import { MINUTE_MS, type StopReason, startedMinutes } from '@switchyard/contracts';
import { ACTIVITY_BEHIND_MS_MAX } from '../lifecycle/run-watch.ts';

/** As much of a silence is billed. */
const SILENCE_BILLED_MS = 60_000;

export interface ModelLimits {
  readonly idleStopMs: number;
  readonly maxLifetimeMs: number;
}

interface Run {
  /** By the wall clock, as `now`. */
  readonly startedAt: number;
  /** When it began, and when its commands ended, the last one last. */
  activeAt: number[];
  /** A command runs. */
  busy: boolean;
  billedMs: number;
  charged: number;
}

export class ModelComputer {
  readonly id: string;
  state: 'running' | 'stopped' | 'error' | 'gone' = 'gone';
  stopReason: StopReason | null = null;
  /** How many were begun. */
  runs = 0;
  minutes = 0;
  /** The tails of their ids, after the computer's. */
  readonly events: string[] = [];
  run: Run | null = null;
  /** What its commands have written into a file, one word each. */
  words: string[] = [];
  filesAreThere = true;

  constructor(id: string) {
    this.id = id;
  }

  /** The run that is on. */
  get currentRun(): Run {
    if (!this.run) throw new Error(`the model's computer ${this.id} does not run`);
    return this.run;
  }

  begin(now: number): void {
    this.runs += 1;
    this.run = { startedAt: now, activeAt: [now], busy: false, billedMs: 0, charged: 0 };
    this.state = 'running';
    this.stopReason = null;
    this.events.push(`${this.runs}:${this.runs === 1 ? 'created' : 'started'}`);
  }

  /** A command, or the like, ends. */
  rest(now: number): void {
    this.currentRun.activeAt.push(now);
  }

  /** Since when it is idle; null while it is busy. */
  get idleSince(): number | null {
    return this.run && !this.run.busy ? (this.run.activeAt.at(-1) ?? null) : null;
  }

  /** What the record may say of that: activity is in it a few seconds later. */
  mayBeIdleSince(now: number): (number | null)[] {
    if (this.idleSince === null) return [null];
    const { activeAt } = this.currentRun;
    const next = (index: number) => activeAt[index + 1] ?? Number.POSITIVE_INFINITY;
    return activeAt.filter((_, index) => now - next(index) <= ACTIVITY_BEHIND_MS_MAX);
  }

  end(reason: StopReason): void {
    this.#charge(startedMinutes(this.currentRun.billedMs));
    this.events.push(`${this.runs}:stopped`);
    this.run = null;
    this.state = 'stopped';
    this.stopReason = reason;
  }

  delete(): void {
    if (this.run) this.#charge(startedMinutes(this.run.billedMs));
    this.events.push(`${this.runs}:deleted`);
    this.run = null;
    this.state = 'gone';
  }

  /**
   * Time passes with an agent there.
   * @param heard whether its heartbeat is
   */
  pass(now: number, ms: number, limits: ModelLimits, heard: boolean): void {
    const { run } = this;
    if (!run) return;
    const billable = (until: number) => Math.min(until - now, heard ? ms : SILENCE_BILLED_MS);
    const idleEnd = (this.idleSince ?? Number.POSITIVE_INFINITY) + limits.idleStopMs;
    const lifetimeEnd = run.startedAt + limits.maxLifetimeMs;
    const end = Math.min(idleEnd, lifetimeEnd);
    run.billedMs += billable(Math.min(end, now + ms));
    if (end <= now + ms) return this.end(idleEnd <= lifetimeEnd ? 'idle' : 'max_lifetime');
    this.#charge(Math.floor(run.billedMs / MINUTE_MS));
  }

  /**
   * Time passes with none: the idle window stands still, the lifetime does not. The next agent knows what the record said,
   * and takes what was active a moment before for active until then.
   * @param told since when it was idle by that; null where it was busy
   */
  passUnwatched(now: number, ms: number, limits: ModelLimits, told: number | null): void {
    const { run } = this;
    if (!run) return;
    const lifetimeEnd = run.startedAt + limits.maxLifetimeMs;
    run.billedMs += Math.min(Math.min(lifetimeEnd, now + ms) - now, SILENCE_BILLED_MS);
    const known = told !== null && now - told > ACTIVITY_BEHIND_MS_MAX;
    run.activeAt = [(known ? told : now) + ms];
    if (lifetimeEnd <= now + ms) this.end('max_lifetime');
  }

  #charge(minutes: number): void {
    const run = this.currentRun;
    for (; run.charged < minutes; run.charged++) {
      this.events.push(`${this.runs}:${run.charged}`);
      this.minutes += 1;
    }
  }
}

export class HostModel {
  readonly limits: ModelLimits;
  /** In the order of their creation; those that are gone too. */
  readonly computers: ModelComputer[] = [];
  /** By the wall clock. */
  now: number;

  constructor(now: number, limits: ModelLimits) {
    this.now = now;
    this.limits = limits;
  }

  those(...states: ModelComputer['state'][]): ModelComputer[] {
    return this.computers.filter(({ state }) => states.includes(state));
  }

  pass(ms: number, { heard = true } = {}): void {
    for (const computer of this.computers) computer.pass(this.now, ms, this.limits, heard);
    this.now += ms;
  }

  /** @param told since when computers were idle by their records, where they were */
  passUnwatched(ms: number, told: ReadonlyMap<ModelComputer, number>): void {
    for (const computer of this.computers)
      computer.passUnwatched(this.now, ms, this.limits, told.get(computer) ?? null);
    this.now += ms;
  }
}
