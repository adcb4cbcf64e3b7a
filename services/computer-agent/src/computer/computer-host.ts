// The computers of this host, for the agent's lifecycle. It knows nothing of the bus, records or money. Every
// operation is safe to repeat after a crash; README.md beside this file gives the order.
import { type CreationProgress, ServiceError } from '@switchyard/contracts';
import type { ContainerOptions } from '../docker/container-config.ts';
import type { Container } from './container.ts';
import { NO_DISK_LIMIT_MESSAGE } from './host-features.ts';
import type { HostParts } from './open-computer-host.ts';
import type { ImageStatus } from './preparation.ts';
import type { Reservation, RunningComputer } from './reservations.ts';
import type { Workspaces } from './workspaces.ts';

interface ReserveOptions extends ContainerOptions {
  readonly computerId: string;
  /** Whose computer it is. */
  readonly org?: string | undefined;
  /** Called with the progress of the image pull. Not called if the image is present. */
  readonly onPull?: ((progress: CreationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A container as the reconciler sees it. */
export interface ListedContainer {
  readonly containerId: string;
  readonly running: boolean;
  /** The container is in this agent's warm pool, or is being made. */
  readonly pooled: boolean;
}

/** Why a host takes no computers. */
export const REFUSAL_REASONS = ['firewall', 'disk_limit', 'engine'] as const;
type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface HostRefusal {
  readonly reason: RefusalReason;
  /** Message of the 503 answer. */
  readonly message: string;
}

const NO_FIREWALL: HostRefusal = {
  reason: 'firewall',
  message: 'the host’s firewall rules are not in place; see its agent’s log for the reason',
};
const NO_DISK_LIMIT: HostRefusal = { reason: 'disk_limit', message: NO_DISK_LIMIT_MESSAGE };
const NO_ENGINE: HostRefusal = { reason: 'engine', message: 'the host’s Docker engine does not answer' };

export class ComputerHost {
  readonly workspaces: Workspaces;
  readonly #parts: HostParts;
  /** The engine answered the last list of containers. */
  #engineAnswers = true;

  constructor(parts: HostParts) {
    this.workspaces = parts.workspaces;
    this.#parts = parts;
  }

  /** Installs and watches the firewall in the background. Call it as soon as running computers are served. */
  guard(): void {
    this.#parts.network.guard();
  }

  /**
   * Prepares for new computers in the background: removes the pool of an earlier agent and fills its own, which takes
   * one core for a second. Call once, after running computers are taken over; they do not depend on it. Containers for
   * which `isOwned` is true belong to computers and are kept.
   */
  prepare(isOwned: (containerId: string) => boolean = () => false): void {
    this.#parts.containers.isOwned = isOwned;
    this.#parts.preparation.start();
  }

  /** Whether the standard image is present. If not, `message` is for the 503: "building ...: step 7 of 19". */
  imageStatus(): ImageStatus {
    return this.#parts.preparation.status;
  }

  /** Why the host takes no new computers; undefined when it takes them. Running computers continue. */
  readonly refusal = (): HostRefusal | undefined =>
    this.#isolationRefusal() ?? (this.#engineAnswers ? undefined : NO_ENGINE);

  /** Resolves when computers can be created, some time after `prepare`. */
  get ready(): Promise<void> {
    return this.#parts.preparation.ready;
  }

  /** Resolves when the warm pool is full. */
  async poolFilled(): Promise<void> {
    await this.ready;
    await this.#parts.reservations.pool.filled();
    await this.#parts.disks.filled();
  }

  /**
   * A container for a new run of a computer: from the warm pool if it has one that fits, otherwise newly created.
   * @throws ServiceError `no_capacity` while the standard image is being built or while the host lacks isolation;
   * `image_unavailable` for a foreign image that cannot be pulled; `computer_failed` when the engine does not answer
   */
  async reserve({ computerId, org, onPull, signal, ...options }: ReserveOptions): Promise<Reservation> {
    const { reservations, foreignImages, standardImageName } = this.#parts;
    const { image } = options;
    this.#requireReady();
    const pooled = await reservations.pooled(computerId, options);
    if (pooled) return pooled;
    if (image === standardImageName)
      return reservations.created(computerId, options).catch((error: unknown) => this.#notCreated(error));
    return foreignImages.use({ image, org, onPull, signal }, (pinned) => {
      this.#requireReady(); // the firewall may have vanished during the pull
      return reservations.created(computerId, { ...options, image: pinned });
    });
  }

  /** Connects to a container that an earlier agent started. @throws ServiceError `computer_failed` if it has ended */
  connect(computer: RunningComputer): Promise<Container> {
    return this.#parts.reservations.connect(computer);
  }

  /** All containers of this agent, including pooled ones, for the reconciler. */
  async containers(): Promise<ListedContainer[]> {
    const listed = await this.#parts.containers.list().catch((error: unknown) => {
      this.#engineAnswers = false;
      throw error;
    });
    this.#engineAnswers = true;
    return listed.map(({ containerId, slot, running }) => ({
      containerId,
      running,
      pooled: this.#parts.reservations.isPooled(slot),
    }));
  }

  /**
   * Removes a container, running or not, and unmounts its workspace. Does nothing if the container does not exist.
   */
  remove(containerId: string): Promise<void> {
    return this.#parts.containers.removeById(containerId);
  }

  /** Stops refilling, removes pooled containers, leaves computers running. */
  async close(): Promise<void> {
    const { preparation, reservations, containers, disks, network, imageRoom, closeMounts } = this.#parts;
    await imageRoom.stop();
    await preparation.close();
    await this.#orWarn(reservations.pool.close());
    await this.#orWarn(containers.removeLeftovers()); // also for an agent that was never ready
    await this.#orWarn(disks.close());
    await this.#orWarn(network.close());
    await closeMounts();
  }

  /** The engine answers 404 when another program has removed the standard image. */
  #notCreated(error: unknown): never {
    const { cause } = error as { readonly cause?: { readonly statusCode?: number } };
    if (cause?.statusCode !== 404) throw error;
    this.#parts.preparation.imageIsMissing();
    this.#requireReady();
    throw error;
  }

  #requireReady(): void {
    const { status } = this.#parts.preparation;
    if (!status.ready) throw new ServiceError('no_capacity', status.message);
    const refusal = this.#isolationRefusal();
    if (refusal) throw new ServiceError('no_capacity', refusal.message);
  }

  /** Set while this host cannot isolate computers. */
  #isolationRefusal(): HostRefusal | undefined {
    if (this.#parts.network.unprotectedReason !== undefined) return NO_FIREWALL;
    return this.#parts.features.lacksDisks ? NO_DISK_LIMIT : undefined;
  }

  /** If Docker is down when the agent ends, the next agent cleans up. */
  async #orWarn(work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) =>
      this.#parts.logger.warn({ err: error }, 'the cleanup on close is incomplete'),
    );
  }
}
