// The container of a running computer: its init, which runs commands and opens streams, and its end.
import { withTimeout } from '@switchyard/service';
import type { Containers, StartedContainer } from './containers.ts';
import type { InitClient } from './init-client.ts';

/** How long to ask the engine how a computer ended. */
const INSPECT_TIMEOUT_MS = 5_000;

type ContainerExit = 'exited' | 'out_of_memory';

interface ContainerDeps {
  readonly containers: Pick<Containers, 'inspect' | 'stop'>;
  readonly remountWorkspace: () => Promise<void>;
}

export class Container {
  readonly containerId: string;
  readonly init: InitClient;
  /** Resolves when PID 1 has ended for any reason. */
  readonly ended: Promise<void>;
  /** Resolves after `ended`, when the engine has reported the reason or did not answer in time. */
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
    this.init = started.init;
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

  /** PID 1 has ended; `exited` resolves shortly. */
  get isEnding(): boolean {
    return this.init.isClosed && !this.#released;
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
    this.init.close();
  }

  /** The end of a computer is reported even if the engine does not answer. */
  async #exit(): Promise<ContainerExit> {
    const late = () => new Error('the Docker engine does not say how the computer ended');
    const asked = this.#deps.containers.inspect(this.containerId);
    const state = await withTimeout(asked, INSPECT_TIMEOUT_MS, late).catch(() => undefined);
    return state?.oomKilled ? 'out_of_memory' : 'exited';
  }
}
