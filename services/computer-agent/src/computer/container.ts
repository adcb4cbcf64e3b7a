// The container of a running computer: its commands, its streams, and its end.
import { setTimeout as delay } from 'node:timers/promises';
import type { Containers, StartedContainer } from './containers.ts';
import type { AttachOptions, ExecOptions, ExecResult, KnownExec } from './exec.ts';
import type { PortStream, TerminalSize, TerminalStream } from './init-stream.ts';

/** How long to ask the engine how a computer ended. */
const INSPECT_TIMEOUT_MS = 5_000;
/** Understood by every current terminal emulator. */
const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', COLORTERM: 'truecolor' } as const;

interface ContainerExit {
  readonly reason: 'stopped' | 'out_of_memory' | 'exited';
}

interface ContainerDeps {
  readonly containers: Pick<Containers, 'inspect' | 'isEnding' | 'stop'>;
  readonly remountWorkspace: () => Promise<void>;
}

export class Container {
  readonly containerId: string;
  /** Resolves when PID 1 has ended for any reason. */
  readonly ended: Promise<void>;
  /** Resolves after `ended`, when the engine has told the reason or did not answer in time. */
  readonly exited: Promise<ContainerExit>;
  /** Mounts /workspace again if another program unmounted it. @throws ServiceError `computer_failed` */
  readonly remountWorkspace: () => Promise<void>;
  readonly #started: StartedContainer;
  readonly #deps: ContainerDeps;
  readonly #onExit = new Set<() => void>();
  #hasExited = false;
  #released = false;

  constructor(started: StartedContainer, deps: ContainerDeps) {
    this.containerId = started.containerId;
    this.remountWorkspace = deps.remountWorkspace;
    this.#started = started;
    this.#deps = deps;
    this.ended = started.init.closed.then(() => (this.#released ? new Promise<never>(() => {}) : undefined));
    this.exited = this.ended.then(() => this.#exit());
    void this.exited.then(() => {
      this.#hasExited = true;
      for (const listener of this.#onExit) listener();
    });
  }

  /**
   * For work that is shorter than the run: a reaction to `exited` would be kept until the run ends.
   * @param listener called when `exited` resolves, at once if it has
   * @returns removes the listener
   */
  onExit(listener: () => void): () => void {
    this.#onExit.add(listener);
    if (this.#hasExited) listener();
    return () => this.#onExit.delete(listener);
  }

  /**
   * Runs a command and waits for its end. A non-zero exit, a timeout and a cancel are results, not errors.
   * @throws ServiceError `invalid_request` (param `cwd`, `env`); `rate_limited`; `computer_failed` when the computer ended or the
   * result cannot be known
   */
  exec(options: ExecOptions): Promise<ExecResult> {
    return this.#started.init.exec(options);
  }

  /** Waits for the end of an exec that an earlier agent started. */
  attach(execId: string, options?: AttachOptions): Promise<ExecResult> {
    return this.#started.init.attach(execId, options);
  }

  /** Running execs, and ended execs whose result was not received (after a restart of the agent). */
  execs(): Promise<KnownExec[]> {
    return this.#started.init.execs();
  }

  /** Reads small files (cgroups, /proc) as the init sees them. null for a file that cannot be read. */
  readFiles(paths: readonly string[]): Promise<(string | null)[]> {
    return this.#started.init.readFiles(paths);
  }

  /**
   * Connects to a port inside the computer, also to a server that listens on localhost only.
   * @param signal aborting it resets the connection
   * @throws ServiceError `port_unreachable` if no server listens, `rate_limited`, `computer_failed`
   */
  openPort(port: number, signal: AbortSignal): Promise<PortStream> {
    return this.#started.init.openStream({ kind: 'port', port }, signal);
  }

  /**
   * A login shell in /workspace in its own terminal. Every process started in it ends with it.
   * @param signal aborting it ends the terminal
   * @throws ServiceError `rate_limited`, `computer_failed`
   */
  openTerminal(size: TerminalSize, signal: AbortSignal): Promise<TerminalStream> {
    return this.#started.init.openStream({ kind: 'terminal', ...size, env: TERMINAL_ENVIRONMENT }, signal);
  }

  /** PID 1 has ended; `exited` resolves shortly. */
  get isEnding(): boolean {
    return this.#started.init.isClosed && !this.#released;
  }

  /** Ends every process (SIGTERM, then SIGKILL after a grace period) and removes the container. Keeps the files. */
  stop(): Promise<void> {
    return this.#deps.containers.stop(this.#started);
  }

  /** This agent has left the computer running, for the next agent. */
  get released(): boolean {
    return this.#released;
  }

  /** Closes the connection and leaves the computer running. Use it when the agent ends. */
  release(): void {
    this.#released = true;
    this.#started.init.close();
  }

  /** The end of a computer is reported even if the engine does not answer. */
  async #exit(): Promise<ContainerExit> {
    const { containers } = this.#deps;
    const { containerId } = this;
    if (containers.isEnding(containerId)) return { reason: 'stopped' };
    const late = new AbortController();
    const unknown = delay(INSPECT_TIMEOUT_MS, undefined, { signal: late.signal, ref: false });
    const state = await Promise.race([containers.inspect(containerId), unknown]).catch(() => undefined);
    late.abort();
    unknown.catch(() => {});
    if (containers.isEnding(containerId)) return { reason: 'stopped' };
    return { reason: state?.oomKilled ? 'out_of_memory' : 'exited' };
  }
}
