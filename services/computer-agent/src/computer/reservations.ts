// Containers for computers: from the warm pool or created for a new run, or found again after a restart of the agent.
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { type ContainerOptions, mayBePooled, type SizeMb, sharesOf } from '../docker/container-config.ts';
import type { Engine } from '../docker/engine.ts';
import type { MountSlots } from '../docker/mounts.ts';
import { Container } from './container.ts';
import { type Containers, newSlot, type StartedContainer } from './containers.ts';
import type { CpuWeights } from './cpu-weights.ts';
import type { Disks } from './disks.ts';
import type { HostFeatures } from './host-features.ts';
import { Spares } from './spares.ts';
import type { Workspaces } from './workspaces.ts';

/** An idle container reserved for one computer. */
export interface Reservation {
  /** Docker's id. Write it into the computer's record before calling `start`. */
  readonly containerId: string;
  /**
   * Mounts the computer's /workspace and sets its size. Commands can run once it resolves.
   * @throws ServiceError `computer_failed`; the container is then removed
   */
  start(): Promise<Container>;
  /** Removes the container. Use it when the record could not be written. */
  discard(): Promise<void>;
}

/** A computer whose container an earlier agent started. */
export interface RunningComputer extends SizeMb {
  readonly computerId: string;
  readonly containerId: string;
}

interface ReservationsDeps {
  readonly engine: Engine;
  readonly containers: Containers;
  readonly disks: Disks;
  readonly workspaces: Workspaces;
  /** As in `Containers`. */
  readonly slots: () => MountSlots | undefined;
  readonly features: HostFeatures;
  /** Number of containers in the warm pool, their image, and their size: a computer of this size needs no update. */
  readonly poolSize: number;
  readonly pooledImage: string;
  readonly pooledSize: SizeMb;
  readonly cpuWeights: CpuWeights;
  readonly logger: Logger;
  readonly killed?: AbortSignal | undefined;
}

export class Reservations {
  /** Started containers of the standard image that wait for a computer to claim them. */
  readonly pool: Spares<StartedContainer>;
  readonly #deps: ReservationsDeps;
  /** Slots of containers that wait in the pool, or are being made: for it, or for a computer. */
  readonly #pooledSlots = new Set<string>();

  constructor(deps: ReservationsDeps) {
    this.#deps = deps;
    this.pool = new Spares({
      ...deps,
      name: 'container of the warm pool',
      size: deps.poolSize,
      make: () => this.#makePooled(),
      destroy: (container) => this.#destroy(container),
      ended: ({ init }) => init.closed,
    });
  }

  /** False once a computer has the container, and for one that ended and could not be removed. */
  isPooled(slot: string): boolean {
    return this.#pooledSlots.has(slot);
  }

  /** From the warm pool; undefined if it is empty, or has no such containers. */
  async pooled(computerId: string, options: ContainerOptions): Promise<Reservation | undefined> {
    const { containers, pooledImage, pooledSize } = this.#deps;
    const started = mayBePooled(options, pooledImage) ? this.pool.claim() : undefined;
    if (!started) return undefined;
    this.#pooledSlots.delete(started.slot);
    containers.assign(started.slot, computerId);
    return {
      containerId: started.containerId,
      start: () => this.#settled(started, options, pooledSize),
      discard: () => this.#destroy(started),
    };
  }

  /** Creates a container with its final size; only the mount into it follows at start. */
  async created(computerId: string, options: ContainerOptions): Promise<Reservation> {
    const { containers, disks, features, workspaces } = this.#deps;
    if (!features.mounts && disks.has(computerId))
      throw new ServiceError('computer_failed', 'The host cannot mount the computer’s disk. Retry later.');
    const slot = newSlot();
    containers.assign(slot, computerId);
    this.#pooledSlots.add(slot); // no record names it yet, and copying the volumes of its image may take a minute
    const container = await containers
      .create({
        ...options,
        slot,
        systemDisk: features.systemDisks,
        folder: features.mounts ? undefined : workspaces.path(computerId),
      })
      .finally(() => this.#pooledSlots.delete(slot));
    return {
      containerId: container.containerId,
      start: async () => this.#settled(await containers.start(container), options, options),
      discard: () => containers.destroy(container),
    };
  }

  /** Connects to a container that an earlier agent started. @throws ServiceError `computer_failed` if it has ended */
  async connect({ containerId, computerId, ...size }: RunningComputer): Promise<Container> {
    const { containers } = this.#deps;
    const found = await containers.connect(containerId);
    containers.assign(found.slot, computerId);
    try {
      // An earlier agent may have lowered its CPU weight, and another program may have unmounted its files.
      await this.#settle(found, size, found.size);
    } catch (error) {
      found.init.close();
      throw error;
    }
    return this.#running(found, size.cpu);
  }

  async #makePooled(): Promise<StartedContainer> {
    const { containers, features, pooledImage: image, pooledSize: size } = this.#deps;
    const slot = newSlot();
    this.#pooledSlots.add(slot);
    try {
      const created = await containers.create({ slot, image, ...size, systemDisk: features.systemDisks });
      return await containers.start(created);
    } catch (error) {
      this.#pooledSlots.delete(slot);
      throw error;
    }
  }

  #destroy(container: StartedContainer): Promise<void> {
    this.#pooledSlots.delete(container.slot);
    return this.#deps.containers.destroy(container);
  }

  /** Removes the container when it cannot be settled. */
  async #settled(started: StartedContainer, size: SizeMb, has: SizeMb): Promise<Container> {
    try {
      await this.#settle(started, size, has);
    } catch (error) {
      await this.#destroy(started);
      throw error;
    }
    return this.#running(started, size.cpu);
  }

  /** Gives a claimed container its computer's files and size, where missing. */
  async #settle({ containerId, slot }: StartedContainer, size: SizeMb, has: SizeMb): Promise<void> {
    await Promise.all([this.#showFiles(slot), this.#giveSize(containerId, size, has)]);
  }

  #running(started: StartedContainer, cpu: number): Container {
    this.#deps.cpuWeights.watch(started, cpu);
    return new Container(started, {
      ...this.#deps,
      remountWorkspace: () => this.#showFiles(started.slot),
    });
  }

  /** Makes the files of a computer visible in its container, unless the container was created with their folder. */
  async #showFiles(slot: string): Promise<void> {
    const { containers, workspaces } = this.#deps;
    const slots = this.#deps.slots();
    const computerId = containers.computerOf(slot);
    if (computerId === undefined || !slots || !(await slots.list()).includes(slot)) return;
    try {
      await workspaces.open(computerId);
      const files = workspaces.path(computerId);
      if (!(await slots.shows(slot, files))) await slots.mount(slot, files);
    } catch (error) {
      throw new ServiceError('computer_failed', 'The computer’s files could not be mounted. Retry later.', {
        cause: error,
      });
    }
  }

  /** An update takes the engine about 50 ms, so it is skipped when the size is already right. */
  async #giveSize(containerId: string, { cpu, memoryMb }: SizeMb, has: SizeMb): Promise<void> {
    if (sharesOf(cpu) === sharesOf(has.cpu) && memoryMb === has.memoryMb) return;
    try {
      await this.#deps.engine.resize(containerId, { cpu, memoryMb });
    } catch (error) {
      throw new ServiceError('computer_failed', 'The computer’s size could not be set. Retry later.', {
        cause: error,
      });
    }
  }
}
