// What the agent's lifecycle can do with the computers of this host. No bus, no records, no money: those are the
// lifecycle's. Everything here is safe to repeat after a crash: README.md beside this file says in which order.
import type { CreationProgress } from '@switchyard/contracts';
import type { AttachOptions, ExecOptions, ExecResult, KnownExec } from './exec.ts';
import type { PortStream, TerminalSize, TerminalStream } from './init-stream.ts';
import type { Workspaces } from './workspaces.ts';

export interface ComputerSize {
  /** Cores: the share that is guaranteed when the host is busy. */
  readonly cpu: number;
  /** MiB that are guaranteed. */
  readonly memoryMb: number;
}

export interface ReserveOptions extends ComputerSize {
  readonly computerId: string;
  readonly image: string;
  /** Told how far the pull of the image is; never, where it is there. */
  readonly onPull?: ((progress: CreationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A container set apart for one computer, which does nothing yet. */
export interface Reservation {
  /** Docker's id: write it into the computer's record before `start`. */
  readonly containerId: string;
  /** It was waiting in the warm pool. */
  readonly warm: boolean;
  /**
   * Mounts the computer's /workspace and gives it its size. When it resolves, commands can run.
   * Throws ServiceError `computer_failed`; the container is gone then.
   */
  start(): Promise<RunningComputer>;
  /** Gives it up: for when the record could not be written. */
  discard(): Promise<void>;
}

export type ExitReason = 'stopped' | 'out_of_memory' | 'exited';

export interface ComputerExit {
  readonly reason: ExitReason;
  /** Of PID 1, or null where Docker no longer knows, and where this agent itself has ended it. */
  readonly exitCode: number | null;
}

export interface RunningComputer {
  readonly containerId: string;
  /**
   * Runs a command and waits for its end. A non-zero exit, a timeout and a cancel are results, not errors.
   * Throws ServiceError `invalid_request` (param `cwd`, `command`, `stdin`, `env`), `computer_failed` when the computer
   * went away or its result cannot be known.
   */
  exec(options: ExecOptions): Promise<ExecResult>;
  /** Execs that run, or ended without anyone receiving the result (after a restart of the agent). */
  execs(): Promise<KnownExec[]>;
  /** Waits for the end of an exec that an earlier agent started; its output comes from the beginning. */
  attach(execId: string, options?: AttachOptions): Promise<ExecResult>;
  /** Reads small files (cgroups, /proc) as its init sees them; null for one that cannot be read. */
  readFiles(paths: readonly string[]): Promise<(string | null)[]>;
  /**
   * A connection to a port inside, also of a server that listens on localhost only.
   * @param signal aborting it breaks the connection off
   * @throws ServiceError `port_unreachable` where nobody listens, `rate_limited`, `computer_failed`
   */
  openPort(port: number, signal: AbortSignal): Promise<PortStream>;
  /**
   * A login shell in /workspace, in a terminal of its own; everything started in it ends with it.
   * @param signal aborting it ends the terminal
   * @throws ServiceError `rate_limited`, `computer_failed`
   */
  openTerminal(size: TerminalSize, signal: AbortSignal): Promise<TerminalStream>;
  /** Mounts its files again where somebody took their mount away. @throws ServiceError `computer_failed` */
  mendFiles(): Promise<void>;
  /** Resolves once, when PID 1 is gone, whoever caused it. */
  readonly exited: Promise<ComputerExit>;
  /** PID 1 is gone: `exited` resolves any moment, with how. */
  readonly isEnding: boolean;
  /** Ends every process (SIGTERM, then SIGKILL after a grace), removes the container, keeps the files. */
  stop(): Promise<void>;
  /** Lets go of the connection and leaves the computer running: for the end of the agent. */
  release(): void;
}

export interface ComputerContainer {
  readonly containerId: string;
  readonly running: boolean;
  /** Waiting in this agent's warm pool, claimed by nobody, or on its way into it. */
  readonly pooled: boolean;
  readonly createdAt: Date;
}

export type ImageStatus = { readonly ready: true } | { readonly ready: false; readonly message: string };

export interface ComputerHost {
  readonly workspaces: Workspaces;
  /** Puts up the walls around computers, in the background, and looks after them. As soon as those that run are served. */
  guard(): void;
  /**
   * Gets ready in the background for new computers: removes the pool of an earlier agent, and makes its own, which
   * takes a second of a core. Once, when those that run are taken over: they need nothing of it.
   */
  prepare(): void;
  /** Whether the standard image is there; if not, `message` is for the 503: "building ...: step 7 of 19, ...". */
  imageStatus(): ImageStatus;
  /** Resolves when computers can be created, some time after `prepare`; never before. */
  readonly ready: Promise<void>;
  /** Resolves when the warm pool is full. */
  poolFilled(): Promise<void>;
  /**
   * A container for a new run of a computer: out of the warm pool for the standard image, else created.
   * Throws ServiceError `no_capacity` while the standard image is built, `image_unavailable` for a foreign image that
   * cannot be pulled.
   */
  reserve(options: ReserveOptions): Promise<Reservation>;
  /** The computer in a container that an earlier agent started. Throws `computer_failed` if it no longer runs. */
  connect(containerId: string): Promise<RunningComputer>;
  /** Every container of this agent, pooled ones included, for the reconciler. */
  containers(): Promise<ComputerContainer[]>;
  /** Removes a container, running or not, and unmounts its workspace. Nothing happens if it is gone already. */
  remove(containerId: string): Promise<void>;
  /** Stops refilling, ends the pool's containers, leaves computers running. */
  close(): Promise<void>;
}
