// What the agent holds of one computer: its record as last written, the run that is on, and the lock under which both
// change. The transitions are in the files beside this one.
import type { ComputerRecord, ComputerRun } from '@switchyard/contracts';
import { ServiceError } from '@switchyard/contracts';
import { Lock } from '@switchyard/service';
import { billableWhenResumed } from '../metering/resumed-run.ts';
import type { RunHolds } from '../metering/run-holds.ts';
import type { RecordEntry } from '../store/computer-records.ts';
import type { LiveRun } from './live-run.ts';
import type { RecoveredExecs } from './recovered-execs.ts';
import type { HostSurroundings } from './surroundings.ts';

export class HeldComputer {
  readonly id: string;
  readonly on: HostSurroundings;
  readonly lock = new Lock();
  /** The run that is on and was taken over by this agent. */
  live: LiveRun | null = null;
  /** What that run holds of its org's money. */
  holds: RunHolds | null = null;
  /** Commands of that run which an earlier agent had begun. */
  recovered: RecoveredExecs | null = null;
  /** Timers of that run. */
  cancelLook: (() => void) | null = null;
  cancelRetry: (() => void) | null = null;
  cancelActivityWrite: (() => void) | null = null;
  /** By the monotonic clock. */
  activityWrittenAt = Number.NEGATIVE_INFINITY;
  connectFailures = 0;
  #entry: RecordEntry;
  /** Called once when there is no such computer on this host any more. */
  readonly #gone: () => void;
  #isGone = false;

  constructor(entry: RecordEntry, surroundings: HostSurroundings, gone: () => void) {
    this.id = entry.value.id;
    this.#entry = entry;
    this.on = surroundings;
    this.#gone = gone;
  }

  get entry(): RecordEntry {
    return this.#entry;
  }

  get record(): ComputerRecord {
    return this.#entry.value;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Of the record; throws where there must be one and is none. */
  get run(): ComputerRun {
    const { run } = this.record;
    if (!run) throw new Error(`the computer ${this.id} has no run in its record, and should have one`);
    return run;
  }

  get now(): Date {
    return new Date(this.on.clock.now());
  }

  /** Billable milliseconds of the run, also where this agent has not taken it over yet. */
  get elapsedMs(): number {
    if (this.live) return this.live.elapsedMs;
    return billableWhenResumed(this.run, this.on.lastHeardBefore, this.on.clock.now());
  }

  /** Under the lock. @throws RecordTaken */
  async write(change: Partial<ComputerRecord>): Promise<void> {
    this.#entry = await this.on.records.update(this.#entry, change);
  }

  /** The record as control has written it. */
  replace(entry: RecordEntry): void {
    this.#entry = entry;
  }

  /** Under the lock: the run that is on. @throws ServiceError `computer_not_found`, `computer_not_running`. */
  requireRun(): LiveRun {
    if (this.#isGone || this.record.state === 'creating' || this.record.state === 'deleting')
      throw notFound();
    if (this.record.state !== 'running') throw notRunning(this.record);
    if (!this.live) throw new ServiceError('service_unavailable', 'the computer’s host is restarting');
    return this.live;
  }

  /**
   * What has ended by itself need not wait for Docker: the reconciler removes a container that no record names.
   * @throws ServiceError `computer_failed`: whoever comes next tries again.
   */
  async removeContainer(): Promise<void> {
    const { live, on, record } = this;
    try {
      if (live) await live.computer.stop();
      else if (record.container !== null) await on.host.remove(record.container);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (!live?.hasEnded)
        throw new ServiceError('computer_failed', 'the computer’s container could not be removed yet', {
          cause: error,
        });
      on.logger.warn(
        { err: error, computer: this.id },
        'the container of a computer that ended is left over',
      );
    }
  }

  /** The run is over for this agent; `release`: the computer itself goes on. */
  forgetRun({ release }: { release: boolean }): void {
    this.cancelLook?.();
    this.cancelRetry?.();
    this.cancelActivityWrite?.();
    this.cancelActivityWrite = null;
    this.recovered?.close();
    this.recovered = null;
    if (release) this.live?.computer.release();
    if (release) this.holds?.leave();
    else this.holds?.giveBack();
    this.holds = null;
    this.live = null;
    this.on.capacity.release(this.id);
  }

  leave(): void {
    this.#isGone = true;
    this.#gone();
  }
}

export function notFound(): ServiceError {
  return new ServiceError('computer_not_found', 'no computer of this id');
}

export function notRunning(record: ComputerRecord, cause?: unknown): ServiceError {
  const why = record.stop_reason === null ? '' : ` (${record.stop_reason})`;
  return new ServiceError('computer_not_running', `the computer is stopped${why}: start it first`, { cause });
}
