// The containers of this host, and everything on the host that belongs to one: its slot names its socket, its mount
// point and its system disk.
import { randomBytes } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { type ContainerOptions, networkFilesOf, type SizeMb } from '../docker/container-config.ts';
import type { ContainerState, Engine, EngineContainer } from '../docker/engine.ts';
import { setHostSideLimits } from '../docker/host-side-limits.ts';
import type { MountSlots } from '../docker/mounts.ts';
import type { ControlSockets } from './control-sockets.ts';
import { connectInit, type InitClient } from './init-client.ts';
import type { SystemDisks } from './system-disks.ts';
import type { Workspaces } from './workspaces.ts';

interface ContainerRef {
  readonly containerId: string;
  readonly slot: string;
}

export interface StartedContainer extends ContainerRef {
  readonly init: InitClient;
}

interface NewContainer extends ContainerOptions {
  readonly slot: string;
  /** Writes outside of /workspace go to a separate disk. */
  readonly systemDisk: boolean;
  /** Host folder that is its /workspace. Default: its mount point, on which files are mounted later. */
  readonly folder?: string | undefined;
}

interface ContainersDeps {
  readonly engine: Engine;
  readonly sockets: ControlSockets;
  /** undefined while this process cannot mount. */
  readonly slots: () => MountSlots | undefined;
  readonly systemDisks: SystemDisks;
  readonly workspaces: Pick<Workspaces, 'close'>;
  readonly logger: Logger;
}

export class Containers {
  /** Host path of the init, once it is compiled. Only creating containers needs it. */
  initBinary = '';
  /** Whether a container is in the record of a computer, which this agent may not have taken over yet. */
  isOwned: (containerId: string) => boolean = () => false;
  readonly #deps: ContainersDeps;
  /** Container -> slot, to clean up after a container that was removed from outside and cannot be inspected. */
  readonly #slots = new Map<string, string>();
  /** Slot -> computer that it was given to; none for a slot of the pool. */
  readonly #computers = new Map<string, string>();
  /** Slots that could not be cleared. Their containers are gone, so no list names them. */
  readonly #uncleared = new Set<string>();

  constructor(deps: ContainersDeps) {
    this.#deps = deps;
  }

  /** All containers of this agent. Also begins to clear what is left of removed ones, which unmounts: it may take long. */
  async list(): Promise<EngineContainer[]> {
    for (const slot of this.#uncleared) {
      this.#uncleared.delete(slot);
      void this.#orWarn(this.#clearSlot(slot), slot);
    }
    return this.#list();
  }

  async #list(): Promise<EngineContainer[]> {
    const found = await this.#deps.engine.list();
    for (const { containerId, slot } of found) this.#slots.set(containerId, slot);
    return found;
  }

  /** Leaves nothing behind when it fails. @throws ServiceError `computer_failed` */
  async create({ slot, systemDisk, folder, ...options }: NewContainer): Promise<ContainerRef> {
    const { engine, sockets, systemDisks } = this.#deps;
    const slots = this.#deps.slots();
    let containerId: string | undefined;
    try {
      await sockets.create(slot);
      if (folder === undefined) await slots?.create(slot);
      const disk = systemDisk ? await systemDisks.create(slot, networkFilesOf(options)) : undefined;
      const directory = folder ?? slots?.directory(slot);
      if (directory === undefined) throw new Error('this process cannot mount');
      containerId = await engine.create({
        ...options,
        slot,
        initBinary: this.initBinary,
        controlDirectory: sockets.directory(slot),
        workspace: { directory, followsMounts: folder === undefined },
        networkFiles: disk?.networkFiles,
      });
      this.#slots.set(containerId, slot);
      if (disk) await disk.moveWritable(await engine.writablePlaces(containerId));
      return { containerId, slot };
    } catch (error) {
      if (containerId === undefined) await this.#orWarn(this.#clearSlot(slot), slot);
      else await this.destroy({ containerId, slot });
      throw new ServiceError('computer_failed', 'the container of the computer could not be created', {
        cause: error,
      });
    }
  }

  /** Starts a container and connects to its init. Leaves nothing behind when it fails. */
  async start({ containerId, slot }: ContainerRef): Promise<StartedContainer> {
    const { engine, sockets, logger } = this.#deps;
    try {
      await engine.start(containerId);
      const init = await connectInit(await sockets.take(slot));
      await setHostSideLimits((await engine.inspect(containerId))?.pid ?? 0, containerId, logger);
      return { containerId, slot, init };
    } catch (error) {
      await this.destroy({ containerId, slot });
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('computer_failed', 'the container of the computer could not be started', {
        cause: error,
      });
    }
  }

  /** Connects to a container that an earlier agent started. @throws ServiceError `computer_failed` */
  async connect(containerId: string): Promise<StartedContainer & { readonly size: SizeMb }> {
    const { engine, sockets } = this.#deps;
    const state = await engine.inspect(containerId);
    if (!state?.running)
      throw new ServiceError('computer_failed', 'the container of the computer no longer runs');
    const { slot, size } = state;
    return { containerId, slot, size, init: await connectInit(sockets.path(slot)) };
  }

  /** Gives the container of the slot to the computer. */
  assign(slot: string, computerId: string): void {
    this.#computers.set(slot, computerId);
  }

  /** The computer that was given the container of the slot. */
  computerOf(slot: string): string | undefined {
    return this.#computers.get(slot);
  }

  inspect(containerId: string): Promise<ContainerState | undefined> {
    return this.#deps.engine.inspect(containerId);
  }

  /**
   * Ends the processes in order, SIGTERM first, then removes the container. Asks the init if possible, because the
   * engine starts a program to signal a container, which slows neighbours.
   */
  async stop({ containerId, slot, init }: StartedContainer): Promise<void> {
    const { engine } = this.#deps;
    if (await init.stop()) await engine.ended(containerId);
    else await engine.stop(containerId);
    await this.remove({ containerId, slot });
  }

  /** Removes a container that no computer uses. One that cannot be removed now is left to the reconciler. */
  async destroy({ containerId, slot, init }: ContainerRef & { readonly init?: InitClient }): Promise<void> {
    init?.close();
    await this.#orWarn(this.remove({ containerId, slot }), slot);
  }

  /** Kills and removes the container, and everything that belongs to its slot. */
  async remove({ containerId, slot }: ContainerRef): Promise<void> {
    await this.#deps.systemDisks.uncoverVolumes(slot);
    await this.#deps.engine.remove(containerId);
    await this.#clearSlot(slot);
    this.#slots.delete(containerId);
  }

  /** The same, by its id. Does nothing if the container is unknown. */
  async removeById(containerId: string): Promise<void> {
    const slot = (await this.inspect(containerId))?.slot ?? this.#slots.get(containerId);
    if (slot !== undefined) await this.remove({ containerId, slot });
  }

  /**
   * Removes the pool of an earlier agent, and slots without a container. The pool are the containers with an empty slot
   * that no computer owns: another program may have unmounted the files of a computer. Call it when all records are
   * known. Lists containers again, because the engine may have been making or removing one when that agent died. One
   * that cannot be removed is logged and left.
   */
  async removeLeftovers(): Promise<void> {
    const { sockets, systemDisks } = this.#deps;
    const slots = this.#deps.slots();
    const left = await this.#list(); // what is left of removed ones is cleared below
    const empty = new Set(await slots?.empty());
    for (const { containerId, slot } of left)
      if (empty.has(slot) && !this.isOwned(containerId)) await this.destroy({ containerId, slot });
    const keptSlots = new Set(left.map(({ slot }) => slot));
    for (const slot of new Set([
      ...((await slots?.list()) ?? []),
      ...(await sockets.list()),
      ...(await systemDisks.list()),
    ])) {
      if (!keptSlots.has(slot)) await this.#orWarn(this.#clearSlot(slot), slot);
    }
  }

  /** What cannot be removed now is removed later: a container by the reconciler, what belongs to it by `list`. */
  async #orWarn(removal: Promise<void>, slot: string): Promise<void> {
    await removal.catch((error: unknown) =>
      this.#deps.logger.warn({ err: error, slot }, 'A container, or what belongs to it, is left over'),
    );
  }

  /** Removes everything that belongs to a slot. The container must be gone. */
  async #clearSlot(slot: string): Promise<void> {
    const { slots, sockets, systemDisks, workspaces } = this.#deps;
    try {
      await slots()?.remove(slot);
      await sockets.remove(slot);
      await systemDisks.remove(slot);
    } catch (error) {
      this.#uncleared.add(slot);
      throw error;
    }
    this.#uncleared.delete(slot);
    const computerId = this.#computers.get(slot);
    this.#computers.delete(slot);
    const isOver = computerId !== undefined && !this.#computers.values().some((id) => id === computerId);
    if (isOver) workspaces.close(computerId);
  }
}

/** Random name of a container's slot; also part of the container's name. */
export function newSlot(): string {
  return randomBytes(8).toString('hex');
}
