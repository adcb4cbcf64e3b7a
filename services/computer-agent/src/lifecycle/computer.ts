// One computer of this host: its transitions, one at a time under its lock, each in an order that a crash between any
// two steps cannot turn into a lost or doubled minute, or a computer that says running and is not:
//
//   begin:  reserve a container -> record it and the run -> start it -> record `running` -> event
//   end:    record `stopping` with the run's final length -> remove the container -> events of the last minutes ->
//           event -> record `stopped`
//   delete: as end, with `deleting`; then the files go, then the event, then the record
//
// What begins is taken back after a crash (nobody was told of it), what ends is finished: see `recover`.
import type { ComputerRecord, ComputerRun, ExecRequest, ExecResult, StopReason } from '@switchyard/contracts';
import { completedMinutes, ServiceError, startedMinutes } from '@switchyard/contracts';
import { Lock } from '@switchyard/service';
import type { Reservation, RunningComputer } from '../computer/computer-host.ts';
import type { WorkspacePath } from '../computer/workspace-path.ts';
import { chargedMinute, minuteCost } from '../metering/minutes.ts';
import { billableWhenLost, billableWhenResumed } from '../metering/resumed-run.ts';
import { type RecordEntry, RecordTaken } from '../store/computer-records.ts';
import { runCommand } from './command.ts';
import { changedEvent, deletedEvent } from './lifecycle-event.ts';
import { LiveRun } from './live-run.ts';
import { RecoveredExecs } from './recovered-execs.ts';
import type { HostSurroundings } from './surroundings.ts';

/** A transition that failed for want of Docker, JetStream or the store is tried again after this. */
const AGAIN_MS = 1_000;
/** Activity is written into the record this long after it happened: one write for a burst of commands. */
const ACTIVITY_WRITE_MS = 500;
/** Reconciler's rounds in which a container that is there but does not answer is tried again before it is given up. */
const CONNECT_ATTEMPTS_MAX = 3;
/** A creation whose request has not come after this time was given up by whoever made its record. */
const CREATION_ARRIVES_MS_MAX = 60_000;

export class Computer {
  readonly id: string;
  readonly #on: HostSurroundings;
  readonly #lock = new Lock();
  /** Called once when there is no such computer on this host any more. */
  readonly #gone: () => void;
  #entry: RecordEntry;
  #live: LiveRun | null = null;
  #recovered: RecoveredExecs | null = null;
  #cancelLook: (() => void) | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelActivityWrite: (() => void) | null = null;
  #connectFailures = 0;
  #isGone = false;

  constructor(entry: RecordEntry, surroundings: HostSurroundings, gone: () => void) {
    this.id = entry.value.id;
    this.#entry = entry;
    this.#on = surroundings;
    this.#gone = gone;
  }

  get record(): ComputerRecord {
    return this.#entry.value;
  }

  /** A transition is under way. */
  get changing(): boolean {
    return !this.#lock.free;
  }

  /** Resolves when the transitions that were asked for until now have ended, however they ended. */
  settled(): Promise<void> {
    return this.#lock.run(() => {});
  }

  /**
   * The first start of a computer whose record control has made. Repeated, it answers with the computer as it is.
   * @throws ServiceError `no_capacity`, `image_unavailable`, `computer_failed`; nothing is left on this host then.
   */
  create(): Promise<ComputerRecord> {
    return this.#exclusively(async () => {
      if (this.record.state === 'running') return this.record;
      if (this.record.state !== 'creating') throw notFound();
      try {
        await this.#on.host.workspaces.create(this.id);
        await this.#begin('created');
      } catch (error) {
        await this.#on.host.workspaces.delete(this.id);
        this.#leave();
        throw error;
      }
      await this.#publishChange('created');
      return this.record;
    });
  }

  /** Starts a stopped computer; a running one is answered as it is. */
  start(): Promise<ComputerRecord> {
    return this.#exclusively(async () => {
      await this.#finishWhatWasLeft();
      if (this.record.state === 'running') return this.record;
      if (this.record.state === 'error')
        throw new ServiceError('computer_failed', this.record.error ?? 'broken');
      if (this.record.state !== 'stopped') throw notFound();
      if (!(await this.#on.host.workspaces.exists(this.id))) {
        const error = 'its files are no longer on the host: delete it';
        await this.#write({ state: 'error', error });
        throw new ServiceError('computer_failed', error);
      }
      await this.#begin('started');
      await this.#publishChange('started');
      return this.record;
    });
  }

  /** Stops a running computer, files kept; a stopped one is answered as it is. */
  stop(reason: StopReason): Promise<ComputerRecord> {
    return this.#exclusively(async () => {
      await this.#finishWhatWasLeft();
      if (this.record.state === 'running') await this.#end(reason, this.#elapsedMs());
      if (this.record.state === 'creating' || this.record.state === 'deleting') throw notFound();
      return this.record;
    });
  }

  /** Removes the computer and its files for good. */
  delete(): Promise<void> {
    return this.#exclusively(async () => {
      if (this.record.state === 'creating') throw notFound();
      await this.#beginDeletion();
      await this.#finishDeletion();
    });
  }

  /**
   * Runs a command; any number at a time. An id that the computer knows from before a restart of the agent is not run
   * again: its result is awaited.
   * @throws ServiceError `computer_not_running`, `command_timed_out`, `computer_failed`, `invalid_request`.
   */
  async exec(execId: string, request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const live = await this.#lock.run(() => this.#requireRun());
    const ended = live.beginCommand();
    this.#activity();
    try {
      return await runCommand(
        { computer: live.computer, recovered: this.#recovered, outputBytesMax: this.#on.outputBytesMax },
        execId,
        request,
        signal,
      );
    } catch (error) {
      const lost = error instanceof ServiceError && error.code === 'computer_failed';
      if (!lost) throw error;
      // The end of a computer shows in its commands first: let the transition that caused it say why.
      await this.settled();
      if (this.#live !== live) throw notRunning(this.record, error);
      throw error;
    } finally {
      ended();
      this.#activity();
    }
  }

  /**
   * Puts a file into /workspace: it is there when this resolves, whole. Counts as activity, as a command does.
   * @throws ServiceError `computer_not_running`, also when it stops before the file is whole; `invalid_request` for a
   *   path that cannot be; `computer_failed`; what the source throws.
   */
  async upload(
    path: WorkspacePath,
    source: AsyncIterable<Uint8Array>,
    expected: { bytes: number; sha256: string },
  ): Promise<void> {
    const { workspaces } = this.#on.host;
    const live = await this.#lock.run(() => this.#requireRun());
    const ended = live.beginCommand();
    this.#activity();
    try {
      const staged = await workspaces.staging.receive(source, expected);
      try {
        await this.#lock.run(async () => {
          if (this.#requireRun() !== live) throw notRunning(this.record);
          await workspaces.place(this.id, staged.path, path);
        });
      } finally {
        await staged.discard();
      }
    } finally {
      ended();
      this.#activity();
    }
  }

  /** Under the lock: the run that is on. */
  #requireRun(): LiveRun {
    if (this.#isGone || this.record.state === 'creating' || this.record.state === 'deleting')
      throw notFound();
    if (this.record.state !== 'running') throw notRunning(this.record);
    if (!this.#live) throw new ServiceError('service_unavailable', 'the computer’s host is restarting');
    return this.#live;
  }

  /**
   * Brings the record and Docker together: takes over a run after a restart of the agent, takes back what was begun,
   * finishes what was ending, and notices a container that went away. Idempotent.
   * @param containers ids of this host's containers that ran a moment ago
   */
  recover(containers: ReadonlySet<string>): Promise<void> {
    return this.#exclusively(async () => {
      switch (this.record.state) {
        case 'creating':
          return this.#takeBackCreation();
        case 'running':
          if (!this.#live) return this.#resume(containers);
          return this.#checkContainer(this.#live, containers);
        case 'starting':
        case 'stopping':
        case 'deleting':
          return this.#finishWhatWasLeft();
        case 'stopped':
        case 'error':
          return;
      }
    });
  }

  /** The record as control has written it meanwhile. */
  refresh(entry: RecordEntry): void {
    if (entry.revision > this.#entry.revision && entry.value.state === 'deleting') this.#entry = entry;
  }

  /** Lets go of the computer and leaves it running: the agent ends, the next one takes over. */
  async release(): Promise<void> {
    await this.#lock.run(async () => {
      if (this.#live && this.record.state === 'running') await this.#writeActivity().catch(() => {});
      this.#forgetRun({ release: true });
    });
  }

  /** Stops the computer because the host goes away. */
  async shutDown(): Promise<void> {
    if (this.record.state === 'running') await this.stop('host_lost');
  }

  // --- beginning ---------------------------------------------------------------------------------------------------

  async #begin(change: 'created' | 'started'): Promise<void> {
    const { record } = this;
    const size = { cpu: record.cpu, memoryMb: record.memory_mb };
    this.#on.capacity.take(this.id, size);
    try {
      const reservation = await this.#on.host.reserve({ computerId: this.id, image: record.image, ...size });
      const computer = await this.#startReserved(reservation, change);
      await this.#recordRunning(computer);
    } catch (error) {
      this.#on.capacity.release(this.id);
      // Where even this fails, the record stays `starting`, and whoever comes next finishes what was left.
      if (this.record.state === 'starting')
        await this.#write({ state: 'stopped', container: null, run: null }).catch(() => {});
      throw error;
    }
  }

  #publishChange(change: 'created' | 'started' | 'stopped'): Promise<void> {
    return this.#on.events.publish(changedEvent(this.record, change, this.#date()));
  }

  /** The run and its container are recorded before the container does anything. */
  async #startReserved(reservation: Reservation, change: 'created' | 'started'): Promise<RunningComputer> {
    try {
      await this.#write({
        state: change === 'created' ? 'creating' : 'starting',
        container: reservation.containerId,
        run: this.#newRun(),
        runs: this.record.runs + 1,
      });
    } catch (error) {
      await reservation.discard();
      throw error;
    }
    return reservation.start();
  }

  async #recordRunning(computer: RunningComputer): Promise<void> {
    const now = this.#date().toISOString();
    const run = { ...this.#run(), started_at: now, anchored_at: now };
    try {
      await this.#write({ state: 'running', run, stop_reason: null, last_activity_at: now });
    } catch (error) {
      await computer.stop();
      throw error;
    }
    this.#live = this.#liveRun(computer, { elapsedMs: 0, ageMs: 0, idleMs: 0, minutesPublished: 0 });
    this.#watch(this.#live);
  }

  #newRun(): ComputerRun {
    const now = this.#date().toISOString();
    return {
      number: this.record.runs + 1,
      started_at: now,
      minutes_charged: 0,
      anchored_ms: 0,
      anchored_at: now,
    };
  }

  // --- running -----------------------------------------------------------------------------------------------------

  #liveRun(
    computer: RunningComputer,
    times: { elapsedMs: number; ageMs: number; idleMs: number; minutesPublished: number },
  ): LiveRun {
    const { clock, billable, limits } = this.#on;
    return new LiveRun({ computer, clock, billable, limits, ...times });
  }

  #watch(live: LiveRun): void {
    this.#lookLater(live.nextLookMs());
    void live.computer.exited.then((exit) => {
      if (this.#live !== live) return;
      const reason = exit.reason === 'out_of_memory' ? 'out_of_memory' : 'exited';
      this.#tryUntilDone(live, () => this.#end(reason, live.elapsedMs));
    });
  }

  #lookLater(ms: number): void {
    this.#cancelLook?.();
    this.#cancelLook = this.#on.clock.after(ms, () => {
      const live = this.#live;
      if (live) this.#tryUntilDone(live, () => this.#look(live));
    });
  }

  /** By the clock as it is now, under the lock: the end of the run, or of a minute. */
  async #look(live: LiveRun): Promise<void> {
    const due = live.due();
    if (due) return this.#end(due.reason, due.elapsedMs);
    await this.#charge(live, completedMinutes(live.elapsedMs), live.elapsedMs);
    this.#lookLater(live.nextLookMs());
  }

  /** Does something about a run that nobody waits for; on failure again a second later, as long as the run is on. */
  #tryUntilDone(live: LiveRun, work: () => Promise<void>): void {
    this.#exclusively(async () => {
      if (this.#live !== live) return;
      if (this.record.state === 'stopping' || this.record.state === 'deleting')
        return this.#finishWhatWasLeft();
      await work();
    }).catch((error: unknown) => {
      if (this.#isGone) return;
      this.#on.logger.warn(
        { err: error, computer: this.id },
        'a computer’s transition failed and is tried again',
      );
      this.#cancelRetry?.();
      this.#cancelRetry = this.#on.clock.after(AGAIN_MS, () => {
        if (this.#live === live) this.#tryUntilDone(live, work);
      });
    });
  }

  /**
   * Publishes the run's minutes up to `minutes`, then counts them in the record. A crash in between publishes the same
   * ids again.
   */
  async #charge(live: LiveRun | null, minutes: number, elapsedMs: number): Promise<void> {
    const run = this.#run();
    const published = Math.max(run.minutes_charged, live?.minutesPublished ?? 0);
    for (let minute = published; minute < minutes; minute++) {
      await this.#on.events.publish(chargedMinute(this.record, run, minute, this.#date()));
      if (live) live.minutesPublished = minute + 1;
    }
    const total = Math.max(minutes, published);
    const charged = total - run.minutes_charged;
    if (charged === 0) return;
    await this.#write({
      minutes: this.record.minutes + charged,
      cost_nano: String(BigInt(this.record.cost_nano) + minuteCost(this.record) * BigInt(charged)),
      run: {
        ...run,
        minutes_charged: total,
        anchored_ms: elapsedMs,
        anchored_at: this.#date().toISOString(),
      },
    });
  }

  #activity(): void {
    const live = this.#live;
    if (!live) return;
    this.#lookLater(live.nextLookMs());
    this.#cancelActivityWrite ??= this.#on.clock.after(ACTIVITY_WRITE_MS, () => {
      this.#cancelActivityWrite = null;
      this.#exclusively(async () => {
        if (this.#live === live && this.record.state === 'running') await this.#writeActivity();
      }).catch((error: unknown) =>
        this.#on.logger.debug(
          { err: error, computer: this.id },
          'activity was not written; the next will be',
        ),
      );
    });
  }

  async #writeActivity(): Promise<void> {
    const idleSince = this.#live?.idleSince?.toISOString() ?? null;
    if (idleSince !== this.record.last_activity_at) await this.#write({ last_activity_at: idleSince });
  }

  // --- ending ------------------------------------------------------------------------------------------------------

  async #end(reason: StopReason, elapsedMs: number): Promise<void> {
    await this.#write({ state: 'stopping', stop_reason: reason, run: this.#endedRun(elapsedMs) });
    await this.#finishStop();
  }

  async #finishStop(): Promise<void> {
    await this.#removeContainer();
    const { anchored_ms } = this.#run();
    await this.#charge(this.#live, startedMinutes(anchored_ms), anchored_ms);
    await this.#publishChange('stopped');
    await this.#write({ state: 'stopped', container: null, run: null, last_activity_at: null });
    this.#forgetRun({ release: false });
  }

  async #beginDeletion(): Promise<void> {
    await this.#finishWhatWasLeft();
    if (this.record.state === 'deleting') return;
    const ending = this.record.run === null ? {} : { run: this.#endedRun(this.#elapsedMs()) };
    await this.#write({ state: 'deleting', ...ending });
  }

  /** A record whose `run` is gone was taken back by control: nobody was told of the computer, nobody pays for it. */
  async #finishDeletion(): Promise<void> {
    await this.#removeContainer();
    const { run } = this.record;
    if (run) await this.#charge(this.#live, startedMinutes(run.anchored_ms), run.anchored_ms);
    await this.#on.host.workspaces.delete(this.id);
    await this.#on.events.publish(deletedEvent(this.record, this.#date()));
    await this.#on.records.delete(this.#entry);
    this.#forgetRun({ release: false });
    this.#leave();
  }

  async #removeContainer(): Promise<void> {
    if (this.#live) await this.#live.computer.stop();
    else if (this.record.container !== null) await this.#on.host.remove(this.record.container);
  }

  /** Billable milliseconds of the run, also where this agent has not taken it over yet. */
  #elapsedMs(): number {
    if (this.#live) return this.#live.elapsedMs;
    return billableWhenResumed(this.#run(), this.#on.lastHeardBefore, this.#on.clock.now());
  }

  #endedRun(elapsedMs: number): ComputerRun {
    return { ...this.#run(), anchored_ms: elapsedMs, anchored_at: this.#date().toISOString() };
  }

  #forgetRun({ release }: { release: boolean }): void {
    this.#cancelLook?.();
    this.#cancelRetry?.();
    this.#cancelActivityWrite?.();
    this.#cancelActivityWrite = null;
    this.#recovered?.close();
    this.#recovered = null;
    if (release) this.#live?.computer.release();
    this.#live = null;
    this.#on.capacity.release(this.id);
  }

  #leave(): void {
    this.#isGone = true;
    this.#gone();
  }

  // --- after a crash -----------------------------------------------------------------------------------------------

  /** Finishes a transition that an error or a crash cut short, so that the next one starts from firm ground. */
  async #finishWhatWasLeft(): Promise<void> {
    switch (this.record.state) {
      case 'starting':
        // Nobody was told that it started: the run never was, and costs nothing.
        await this.#removeContainer();
        await this.#write({ state: 'stopped', container: null, run: null });
        return this.#forgetRun({ release: false });
      case 'stopping':
        return this.#finishStop();
      case 'deleting':
        return this.#finishDeletion();
    }
  }

  /** A creation that an earlier agent began, or that never reached one: nobody was told of the computer. */
  async #takeBackCreation(): Promise<void> {
    const { run, created_at } = this.record;
    const onItsWay = run === null && this.#on.clock.now() - Date.parse(created_at) < CREATION_ARRIVES_MS_MAX;
    if (onItsWay) return;
    await this.#removeContainer();
    await this.#on.host.workspaces.delete(this.id);
    await this.#on.records.delete(this.#entry);
    this.#leave();
  }

  async #checkContainer(live: LiveRun, containers: ReadonlySet<string>): Promise<void> {
    const { containerId } = live.computer;
    if (containers.has(containerId)) return;
    // It may have been started after the list was made.
    const now = await this.#on.host.containers();
    if (now.some((container) => container.containerId === containerId && container.running)) return;
    await this.#end('exited', live.elapsedMs);
  }

  async #resume(containers: ReadonlySet<string>): Promise<void> {
    const { record } = this;
    const run = this.#run();
    const { lastHeardBefore, clock, host } = this.#on;
    const container = record.container;
    if (container === null || !containers.has(container))
      return this.#end('exited', billableWhenLost(run, lastHeardBefore));
    let computer: RunningComputer;
    try {
      computer = await host.connect(container);
    } catch (error) {
      this.#connectFailures += 1;
      if (this.#connectFailures < CONNECT_ATTEMPTS_MAX) throw error;
      return this.#end('exited', billableWhenLost(run, lastHeardBefore));
    }
    const now = clock.now();
    const elapsedMs = billableWhenResumed(run, lastHeardBefore, now);
    await this.#write({
      run: { ...run, anchored_ms: elapsedMs, anchored_at: new Date(now).toISOString() },
    });
    this.#on.capacity.takeAnyway(this.id, { cpu: record.cpu, memoryMb: record.memory_mb });
    const ageMs = Math.max(0, now - Date.parse(run.started_at));
    const live = this.#liveRun(computer, {
      elapsedMs,
      ageMs,
      idleMs: this.#idleMsBefore(record),
      minutesPublished: run.minutes_charged,
    });
    this.#live = live;
    this.#recovered = await RecoveredExecs.open(live, clock, () => this.#activity());
    // An earlier agent may have died between the record and the event.
    if (run.minutes_charged === 0)
      await this.#on.events.publish(
        changedEvent(this.record, run.number === 1 ? 'created' : 'started', new Date(run.started_at)),
      );
    this.#watch(live);
  }

  /** The idle window stands still while there was no agent to take a command. */
  #idleMsBefore(record: ComputerRecord): number {
    if (record.last_activity_at === null) return 0;
    return Math.max(0, this.#on.lastHeardBefore - Date.parse(record.last_activity_at));
  }

  // --- the record --------------------------------------------------------------------------------------------------

  #run(): ComputerRun {
    const { run } = this.record;
    if (!run) throw new Error(`the computer ${this.id} has no run in its record, and should have one`);
    return run;
  }

  async #write(change: Partial<ComputerRecord>): Promise<void> {
    this.#entry = await this.#on.records.update(this.#entry, change);
  }

  /** Under the lock. A computer that control took away meanwhile is cleared from this host, and then not found. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.run(async () => {
      if (this.#isGone) throw notFound();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof RecordTaken)) throw error;
        await this.#clearAway(error.entry);
        throw notFound();
      }
    });
  }

  async #clearAway(entry: RecordEntry | null): Promise<void> {
    if (entry) {
      this.#entry = entry;
      return this.#finishDeletion();
    }
    // Deleted behind our back: files stay, as nothing says that their owner wanted them gone.
    this.#on.logger.error(
      { computer: this.id },
      'the record of a computer is gone; its container is removed',
    );
    await this.#removeContainer();
    this.#forgetRun({ release: false });
    this.#leave();
  }

  #date(): Date {
    return new Date(this.#on.clock.now());
  }
}

function notFound(): ServiceError {
  return new ServiceError('computer_not_found', 'no computer of this id');
}

function notRunning(record: ComputerRecord, cause?: unknown): ServiceError {
  const why = record.stop_reason === null ? '' : ` (${record.stop_reason})`;
  return new ServiceError('computer_not_running', `the computer is stopped${why}: start it first`, { cause });
}
