// One computer of this host: what can be asked of it. Its transitions happen one at a time under its lock, each in an
// order that a crash between any two steps cannot turn into a lost or doubled minute, or a computer that says running and
// is not: `beginning.ts`, `ending.ts`. What begins is taken back after a crash (nobody was told of it), what ends is
// finished: `taking-over.ts`.
import type { Duplex } from 'node:stream';
import type {
  ComputerRecord,
  ExecList,
  ExecObject,
  ExecRequest,
  ExecResult,
  StopReason,
} from '@switchyard/contracts';
import { ServiceError } from '@switchyard/contracts';
import type { RunningComputer } from '../computer/computer-host.ts';
import type { Measured } from '../computer/meter.ts';
import { type OpenEntry, openEntry } from '../computer/open-entry.ts';
import { type RemoveOptions, removeEntry } from '../computer/remove-entry.ts';
import type { Expected, ReceivedFile } from '../computer/staging.ts';
import type { WorkspacePath } from '../computer/workspace-path.ts';
import type { RecordEntry } from '../store/computer-records.ts';
import { beginRun } from './beginning.ts';
import { type CommandWishes, runCommand } from './command.ts';
import { CreationReport, type TellProgress } from './creation-report.ts';
import { deleteComputer, endRun, finishWhatWasLeft } from './ending.ts';
import { exclusively } from './exclusively.ts';
import type { ExecResults } from './exec-results.ts';
import { HeldComputer, notFound, notRunning } from './held-computer.ts';
import { changedEvent } from './lifecycle-event.ts';
import type { LiveRun } from './live-run.ts';
import { noteActivity, writeActivity } from './run-watch.ts';
import type { HostSurroundings } from './surroundings.ts';
import { bringInOrder } from './taking-over.ts';

export class Computer {
  readonly id: string;
  readonly #held: HeldComputer;
  readonly #on: HostSurroundings;
  /** While it is being created: aborting it ends the wait for its image. */
  #creation: AbortController | null = null;

  /** @param gone called once when there is no such computer on this host any more */
  constructor(entry: RecordEntry, surroundings: HostSurroundings, gone: () => void) {
    this.id = entry.value.id;
    this.#on = surroundings;
    this.#held = new HeldComputer(entry, surroundings, gone);
  }

  get record(): ComputerRecord {
    return this.#held.record;
  }

  /** A transition is under way. */
  get changing(): boolean {
    return !this.#held.lock.free;
  }

  /** Resolves when the transitions that were asked for until now have ended, however they ended. */
  settled(): Promise<void> {
    return this.#held.lock.run(() => {});
  }

  /**
   * The first start of a computer whose record control has made. Repeated, it answers with the computer as it is.
   * @param limited whether something limits what its key may spend; undefined: not known
   * @param signal aborting it ends the wait for an image
   * @param tell hears how far it is: first when its image is asked for at its registry, or is there
   * @throws ServiceError `no_capacity`, `image_unavailable`, `computer_failed`, `insufficient_funds`, `budget_exceeded`;
   *   `computer_not_found` where it was deleted meanwhile; nothing is left on this host then.
   */
  create(limited: boolean | undefined, signal: AbortSignal, tell?: TellProgress): Promise<ComputerRecord> {
    const { workspaces } = this.#on.host;
    return exclusively(this.#held, async () => {
      if (this.record.state === 'running') return this.record;
      if (this.record.state !== 'creating') throw notFound();
      const creation = new AbortController();
      this.#creation = creation;
      try {
        await workspaces.create(this.id, this.record.disk_gb);
        await beginRun(this.#held, {
          first: true,
          limited,
          signal: AbortSignal.any([signal, creation.signal]),
          report: new CreationReport(this.#held, tell),
        });
      } catch (error) {
        await workspaces.delete(this.id);
        if (creation.signal.aborted) await this.#on.records.delete(this.#held.entry);
        this.#held.leave();
        throw error;
      } finally {
        this.#creation = null;
      }
      await this.#publishChange('created');
      return this.record;
    });
  }

  /** Starts a stopped computer; a running one is answered as it is. */
  async start(limited: boolean | undefined): Promise<ComputerRecord> {
    this.#requireCreated();
    return exclusively(this.#held, async () => {
      await finishWhatWasLeft(this.#held);
      if (this.record.state === 'running') return this.record;
      if (this.record.state === 'error')
        throw new ServiceError('computer_failed', this.record.error ?? 'broken');
      if (this.record.state !== 'stopped') throw notFound();
      if (!(await this.#on.host.workspaces.exists(this.id))) {
        const error = 'its files are no longer on the host: delete it';
        await this.#held.write({ state: 'error', error });
        throw new ServiceError('computer_failed', error);
      }
      await beginRun(this.#held, { first: false, limited });
      await this.#publishChange('started');
      return this.record;
    });
  }

  /** Stops a running computer, files kept; a stopped one is answered as it is. */
  async stop(reason: StopReason): Promise<ComputerRecord> {
    this.#requireCreated();
    return exclusively(this.#held, async () => {
      await finishWhatWasLeft(this.#held);
      if (this.record.state === 'running') await endRun(this.#held, reason, this.#held.elapsedMs);
      if (this.record.state === 'creating' || this.record.state === 'deleting') throw notFound();
      return this.record;
    });
  }

  /** Removes the computer and its files for good; one that is being created is not waited for. */
  delete(): Promise<void> {
    this.#creation?.abort(
      new ServiceError('computer_not_found', 'the computer was deleted while it was being created'),
    );
    return exclusively(this.#held, async () => {
      if (this.record.state === 'creating') throw notFound();
      await deleteComputer(this.#held);
    });
  }

  /**
   * Runs a command; any number at a time. An id that the computer knows from before a restart of the agent is not run
   * again: its result is awaited.
   * @param onStart called when the computer has taken it
   * @throws ServiceError `computer_not_running`, `command_timed_out`, `computer_failed`, `invalid_request`.
   */
  exec(
    execId: string,
    request: ExecRequest,
    signal: AbortSignal,
    { onStart, ...wishes }: CommandWishes & { onStart?: () => void } = {},
  ): Promise<ExecResult> {
    return this.#busyWith(async (live) => {
      const { recovered } = this.#held;
      const { outputBytesMax } = this.#on;
      onStart?.();
      try {
        return await runCommand(
          { computer: live.computer, recovered, outputBytesMax },
          execId,
          request,
          signal,
          wishes,
        );
      } catch (error) {
        throw await this.#reasonOf(error, live);
      }
    });
  }

  /**
   * Opens a connection into the computer, a port or a terminal, and leaves it to `use`, at whose end it is broken off. The
   * computer is busy meanwhile; its own end ends the connection.
   * @throws ServiceError `computer_not_running`, `port_unreachable`, `rate_limited`, `computer_failed`; what `use` throws
   */
  connect<C extends Duplex>(
    open: (computer: RunningComputer) => Promise<C>,
    use: (connection: C) => Promise<void>,
  ): Promise<void> {
    return this.#busyWith(async (live) => {
      try {
        const connection = await open(live.computer);
        try {
          await use(connection);
        } finally {
          connection.destroy();
        }
        // A server that was ended with its computer has not said all that it had to say.
        await this.settled();
        if (this.#held.live !== live) throw notRunning(this.record);
      } catch (error) {
        throw await this.#reasonOf(error, live);
      }
    });
  }

  /** The end of a computer shows in its commands and connections first: the transition that caused it says why. */
  async #reasonOf(error: unknown, live: LiveRun): Promise<unknown> {
    const lost = error instanceof ServiceError && error.code === 'computer_failed';
    if (!lost) return error;
    if (live.computer.isEnding) await live.computer.exited;
    await this.settled();
    return this.#held.live === live ? error : notRunning(this.record, error);
  }

  /** Commands that run, and results that are kept. Looking at them is no activity. @throws as `requireRun`. */
  async execs(): Promise<ExecList> {
    return (await this.#execResults()).list();
  }

  /** @throws ServiceError `exec_not_found`; as `requireRun`. */
  async execResult(execId: string): Promise<ExecObject> {
    return (await this.#execResults()).get(execId);
  }

  async #execResults(): Promise<ExecResults> {
    return (await this.#requireRun()).execResults;
  }

  /**
   * Puts a file into /workspace: it is there when this resolves, whole. Counts as activity, as a command does.
   * @throws ServiceError `computer_not_running`, also when it stops before the file is whole; `invalid_request` for a
   *   path that cannot be; `computer_failed`; what the source throws.
   */
  upload(path: WorkspacePath, source: AsyncIterable<Uint8Array>, expected: Expected): Promise<ReceivedFile> {
    const { workspaces } = this.#on.host;
    return this.#busyWith(async (live) => {
      const staging = await workspaces.staging(this.id);
      const staged = await staging.receive(source, expected);
      try {
        await this.#whileOn(live, () => workspaces.place(this.id, staged.path, path));
      } finally {
        await staged.discard();
      }
      return staged;
    });
  }

  /**
   * Opens a file or folder of /workspace for `work`. A computer that ends closes it at once, so that nothing holds its disk
   * when that is mounted again. Counts as activity.
   * @throws ServiceError `computer_not_running`, `path_not_found`, `invalid_request`, `computer_failed`.
   */
  read<T>(names: readonly string[], work: (entry: OpenEntry) => Promise<T>): Promise<T> {
    return this.#busyWith(async (live) => {
      const lost = live.computer.exited.then(() => {
        throw new ServiceError('computer_failed', 'the computer ended while its file was read');
      });
      lost.catch(() => {}); // it ends long after most reads do
      try {
        const entry = await openEntry(this.#on.host.workspaces.path(this.id), names);
        try {
          return await Promise.race([work(entry), lost]);
        } finally {
          await entry.handle.close();
        }
      } catch (error) {
        throw await this.#reasonOf(error, live);
      }
    });
  }

  /**
   * Removes a file or folder of /workspace. Counts as activity.
   * @throws ServiceError `computer_not_running`, `path_not_found`, `invalid_request`.
   */
  removeFile(names: readonly string[], options: RemoveOptions): Promise<void> {
    return this.#busyWith(() => removeEntry(this.#on.host.workspaces.path(this.id), names, options));
  }

  /** What it uses. Looking at it is no activity. @throws ServiceError `computer_not_running`, `computer_failed`. */
  async metrics(): Promise<Measured> {
    const held = this.#held;
    const live = await this.#requireRun();
    return live.meter.measure(this.#on.host.workspaces.path(this.id), held.now);
  }

  /** @throws ServiceError `computer_busy` as long as it is being created, which may take minutes and is not waited for. */
  #requireCreated(): void {
    if (this.#creation && this.record.state === 'creating')
      throw new ServiceError('computer_busy', 'the computer is still being created');
  }

  /** The run that is on. @throws ServiceError `computer_not_found`, `computer_not_running`, `computer_busy`. */
  async #requireRun(): Promise<LiveRun> {
    this.#requireCreated();
    return this.#held.lock.run(() => this.#held.requireRun());
  }

  /** Work on the run that is on, which is busy until its end. @throws as `requireRun`. */
  async #busyWith<T>(work: (live: LiveRun) => Promise<T>): Promise<T> {
    const held = this.#held;
    const live = await this.#requireRun();
    const ended = live.beginCommand();
    noteActivity(held);
    try {
      return await work(live);
    } finally {
      ended();
      noteActivity(held);
    }
  }

  /** Work under the lock, if the run is still on. @throws ServiceError `computer_not_running`. */
  #whileOn<T>(live: LiveRun, work: () => Promise<T>): Promise<T> {
    return this.#held.lock.run(async () => {
      if (this.#held.requireRun() !== live) throw notRunning(this.record);
      return work();
    });
  }

  /**
   * Brings the record and Docker together.
   * @param containers ids of this host's containers that ran a moment ago
   */
  recover(containers: ReadonlySet<string>): Promise<void> {
    return exclusively(this.#held, () => bringInOrder(this.#held, containers));
  }

  /** The record as control has written it meanwhile. */
  refresh(entry: RecordEntry): void {
    if (entry.revision > this.#held.entry.revision && entry.value.state === 'deleting')
      this.#held.replace(entry);
  }

  /** Lets go of the computer and leaves it running: the agent ends, the next one takes over. */
  async release(): Promise<void> {
    this.#creation?.abort(new ServiceError('service_unavailable', 'the computer’s host is shut down'));
    await this.#held.lock.run(async () => {
      if (this.#held.live && this.record.state === 'running') await writeActivity(this.#held).catch(() => {});
      this.#held.forgetRun({ release: true });
    });
  }

  /** Stops the computer because the host goes away. */
  async shutDown(): Promise<void> {
    if (this.record.state === 'running') await this.stop('host_lost');
  }

  #publishChange(change: 'created' | 'started'): Promise<void> {
    return this.#on.events.publish(changedEvent(this.record, change, this.#held.now));
  }
}
