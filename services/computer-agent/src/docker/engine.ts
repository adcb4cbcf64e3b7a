// Containers for computers on the Docker engine. Their configuration: container-config.ts.
import { dirname } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { withTimeout } from '@switchyard/service';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import {
  BYTES_PER_MB,
  type ContainerDefaults,
  type ContainerSpec,
  CPU_SHARES_PER_CORE,
  containerConfig,
  guaranteed,
  LABEL_AGENT,
  LABEL_SLOT,
  type SizeMb,
} from './container-config.ts';

/** A hanging engine must not block a computer's lock, the reconciler, or the agent's start forever. */
const ANSWER_MS_MAX = 60_000;
/** Docker sends SIGKILL after this; the init normally ends sooner. */
const STOP_TIMEOUT_S = 4;

interface EngineOptions extends ContainerDefaults {
  readonly docker: Docker;
  /** Timeout for each answer; undefined: one minute. */
  readonly answerMsMax?: number | undefined;
}

/** Host folders of the files that a container writes. */
export interface WritablePlaces {
  /** Holds the engine's writable layer over the image, with its `diff` and `work`. */
  readonly layer: string;
  /** Volumes that the image declares. */
  readonly volumes: readonly string[];
}

export interface EngineContainer {
  readonly containerId: string;
  readonly slot: string;
  readonly running: boolean;
}

export interface ContainerState {
  readonly slot: string;
  readonly running: boolean;
  /** Of its init, in the engine host's pid namespace; 0 when it does not run. */
  readonly pid: number;
  /** Size as last set in the engine. */
  readonly size: SizeMb;
  readonly oomKilled: boolean;
}

export type Engine = ReturnType<typeof createEngine>;

/** The cores, memory and data folder of an engine. @throws when it does not answer in time */
export function engineInfo(
  docker: Docker,
): Promise<{ NCPU: number; MemTotal: number; DockerRootDir: string }> {
  return answeredBy(docker.info());
}

/** @throws when the engine does not answer in time */
export function answeredBy<T>(answer: Promise<T>, msMax = ANSWER_MS_MAX): Promise<T> {
  const late = () => new Error(`the Docker engine does not answer within ${msMax / 1_000} s`);
  return withTimeout(answer, msMax, late);
}

/** @throws ServiceError always: another host may serve the request */
export function engineFails(cause: unknown): never {
  const message = 'The Docker engine of the host does not answer. Retry later.';
  throw new ServiceError('computer_failed', message, { cause });
}

/** The same, unless the engine answered with an error of its own. */
export function unlessAnswered(error: unknown): never {
  if ((error as { readonly statusCode?: number }).statusCode !== undefined) throw error;
  return engineFails(error);
}

export function createEngine(options: EngineOptions) {
  const { docker, agentId, answerMsMax = ANSWER_MS_MAX } = options;
  /** A request that timed out may still be carried out; the reconciler handles the result. */
  const answered = <T>(answer: Promise<T>) => answeredBy(answer, answerMsMax);
  const unlessGone = <T>(answer: Promise<T>) => orGone(answered(answer));
  return {
    /** Creates, does not start. Returns Docker's id. */
    async create(spec: ContainerSpec): Promise<string> {
      const container = await answered(docker.createContainer(containerConfig(spec, options)));
      return container.id;
    },
    /** @throws if the engine's storage driver is not overlay2 */
    async writablePlaces(containerId: string): Promise<WritablePlaces> {
      const { GraphDriver, Mounts } = await answered(docker.getContainer(containerId).inspect());
      // Dockerode's types describe another driver.
      const { UpperDir: upper } = (GraphDriver?.Data ?? {}) as { readonly UpperDir?: string };
      if (GraphDriver?.Name !== 'overlay2' || upper === undefined)
        throw new Error('the storage driver of the engine is not overlay2');
      const volumes = Mounts.filter(({ Type }) => Type === 'volume').map(({ Source }) => Source);
      return { layer: dirname(upper), volumes };
    },
    start: (containerId: string): Promise<void> => answered(docker.getContainer(containerId).start()),
    /** Gives a container another size in place. */
    async resize(containerId: string, size: SizeMb): Promise<void> {
      await answered(docker.getContainer(containerId).update(guaranteed(size, options.burst)));
    },
    /** Sets the CPU weight of a running container. */
    async setShares(containerId: string, shares: number): Promise<void> {
      await answered(docker.getContainer(containerId).update({ CpuShares: shares }));
    },
    /** Sends SIGTERM, then SIGKILL after a grace period. Does nothing if the container is stopped or gone. */
    async stop(containerId: string): Promise<void> {
      await unlessGone(docker.getContainer(containerId).stop({ t: STOP_TIMEOUT_S }));
    },
    /** Resolves when it does not run, or is gone. */
    async ended(containerId: string): Promise<void> {
      await unlessGone(docker.getContainer(containerId).wait());
    },
    /** Kills and removes the container. Does nothing if it is gone. */
    async remove(containerId: string): Promise<void> {
      await unlessGone(docker.getContainer(containerId).remove({ force: true, v: true }));
    },
    /** Undefined if there is no such container of this agent. */
    async inspect(containerId: string): Promise<ContainerState | undefined> {
      const found = await unlessGone(docker.getContainer(containerId).inspect());
      if (!found || found.Config.Labels[LABEL_AGENT] !== agentId) return undefined;
      return stateOf(found);
    },
    /** All containers of this agent, stopped ones included. */
    async list(): Promise<EngineContainer[]> {
      const filters = { label: [`${LABEL_AGENT}=${agentId}`] };
      const found = await answered(docker.listContainers({ all: true, filters }));
      return found.map(({ Id, Labels, State }) => ({
        containerId: Id,
        slot: Labels[LABEL_SLOT] ?? '',
        running: State === 'running',
      }));
    },
  };
}

function stateOf({ Config, HostConfig, State }: ContainerInspectInfo): ContainerState {
  return {
    slot: Config.Labels[LABEL_SLOT] ?? '',
    running: State.Running,
    pid: State.Pid,
    size: {
      cpu: (HostConfig.CpuShares ?? CPU_SHARES_PER_CORE) / CPU_SHARES_PER_CORE,
      memoryMb: (HostConfig.MemoryReservation ?? 0) / BYTES_PER_MB,
    },
    oomKilled: State.OOMKilled,
  };
}

/** 304: already done; 404: no such container; 409: another process is removing it. */
const GONE_STATUSES = new Set([304, 404, 409]);

async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const status = (error as { statusCode?: number }).statusCode;
    if (status !== undefined && GONE_STATUSES.has(status)) return undefined;
    throw error;
  }
}
