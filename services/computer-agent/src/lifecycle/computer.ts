// One computer of this host: its record as last written, the current run, and the lock that protects both. Its
// operations are in transitions.ts, use-run.ts and reconcile.ts.
import type { ComputerRecord, ComputerRun, StopReason } from '@switchyard/contracts';
import { ServiceError } from '@switchyard/contracts';
import { Lock } from '@switchyard/service';
import { billableWhenResumed } from '../metering/resumed-run.ts';
import type { RecordEntry } from '../store/computer-records.ts';
import type { ComputerDeps } from './deps.ts';
import type { Run, RunEnd } from './run.ts';

export class Computer {
  readonly id: string;
  readonly deps: ComputerDeps;
  readonly lock = new Lock();
  /** When this agent first saw the record, by its monotonic clock: control's clock, which dates the record, may differ. */
  readonly knownSince: number;
  /** The current run, once this agent has begun it or taken it over. */
  run: Run | null = null;
  /** Creations and starts in progress, and starts that wait: aborting one ends its wait for the image. */
  readonly beginnings = new Set<AbortController>();
  /** Consecutive failed attempts to connect to its container. */
  connectFailures = 0;
  #entry: RecordEntry;
  /** Called once when the computer no longer exists on this host. */
  readonly #gone: () => void;
  #isGone = false;

  constructor(entry: RecordEntry, deps: ComputerDeps, gone: () => void) {
    this.id = entry.value.id;
    this.#entry = entry;
    this.deps = deps;
    this.knownSince = deps.clock.monotonic();
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

  /** A transition is in progress. */
  get changing(): boolean {
    return !this.lock.free;
  }

  /** Resolves when all transitions requested so far have succeeded or failed. */
  settled(): Promise<void> {
    return this.lock.run(() => {});
  }

  /** Run of the record. Throws if there is none. */
  get recordedRun(): ComputerRun {
    const { run } = this.record;
    if (!run) throw new Error(`the record of the computer ${this.id} has no run`);
    return run;
  }

  get now(): Date {
    return new Date(this.deps.clock.now());
  }

  /** As `endNow` of the run, also before this agent has taken it over. */
  endNow(reason: StopReason): RunEnd {
    if (this.run) return this.run.endNow(reason);
    const { lastHeardBefore, clock } = this.deps;
    return { reason, elapsedMs: billableWhenResumed(this.recordedRun, lastHeardBefore, clock.now()) };
  }

  /** Under the lock. @throws RecordTaken */
  async write(change: Partial<ComputerRecord>): Promise<void> {
    this.#entry = await this.deps.records.update(this.#entry, change);
  }

  /** The record as control has written it. */
  replace(entry: RecordEntry): void {
    this.#entry = entry;
  }

  /**
   * Updates the record if control has marked it for deletion. Not during a transition, which learns of the mark when it
   * writes the record; with the revision of the mark, it would overwrite it.
   */
  refresh(entry: RecordEntry): void {
    if (this.changing) return;
    if (entry.revision > this.#entry.revision && entry.value.state === 'deleting') this.replace(entry);
  }

  /** @throws ServiceError `computer_busy` during the creation, which may take minutes and is not waited for */
  requireCreated(): void {
    if (this.beginnings.size > 0 && this.record.state === 'creating')
      throw new ServiceError('computer_busy', 'the computer is still being created');
  }

  /** Under the lock: the current run. @throws ServiceError `computer_not_found`, `computer_not_running`. */
  requireRun(): Run {
    if (this.#isGone || this.record.state === 'creating' || this.record.state === 'deleting')
      throw notFound();
    if (this.record.state !== 'running') throw notRunning(this.record);
    if (!this.run) throw hostRestarting();
    return this.run;
  }

  /**
   * Does not wait for Docker if the computer ended by itself: the reconciler removes a container that no record
   * names.
   * @throws ServiceError `computer_failed`; the next transition tries again
   */
  async removeContainer(): Promise<void> {
    const { run, deps, record } = this;
    try {
      if (run) await run.container.stop();
      else if (record.container !== null) {
        await deps.host.remove(record.container);
        deps.host.workspaces.close(this.id);
      }
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (!run?.hasEnded)
        throw new ServiceError('computer_failed', 'the computer’s container could not be removed yet', {
          cause: error,
        });
      deps.logger.warn(
        { err: error, computer: this.id },
        'the container of a computer that ended is left over',
      );
    }
  }

  /** The run is over for this agent. `release`: the computer itself keeps running. */
  forgetRun({ release }: { release: boolean }): void {
    this.run?.close({ release });
    this.run = null;
    this.deps.capacity.release(this.id);
  }

  /** The computer no longer exists on this host. */
  leave(): void {
    this.#isGone = true;
    this.#gone();
  }
}

export function notFound(cause?: unknown): ServiceError {
  return new ServiceError('computer_not_found', 'no computer of this id', { cause });
}

/** The edge asks the next agent for the result of a command that is refused with this. */
export function hostRestarting(cause?: unknown): ServiceError {
  return new ServiceError('service_unavailable', 'the computer’s host is restarting', { cause });
}

export function notRunning(record: ComputerRecord, cause?: unknown): ServiceError {
  const why = record.stop_reason === null ? '' : ` (${record.stop_reason})`;
  return new ServiceError('computer_not_running', `the computer is stopped${why}: start it first`, { cause });
}
