// The disk of a computer: a separate file system of fixed size, stored in a sparse file of the host. A computer can
// fill only its own disk, bytes and inodes. Deleting the computer deletes this one file.
//
// Disks are made and mounted ahead of need, so a creation does not wait. A link assigns a disk to a computer. After a
// crash a disk either has its link or has no owner; the next agent removes disks without an owner. A disk stays mounted
// while its computer runs.
import { randomBytes } from 'node:crypto';
import { rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { Locks, type Logger } from '@switchyard/service';
import { isFileSystem, mounts } from '../docker/mounts.ts';
import { type DiskFolder, openDiskFolder } from './disk-folder.ts';
import { formatDisk, unmountDisk } from './disk-image.ts';
import { nullWhenMissing } from './missing.ts';
import { Spares } from './spares.ts';

const IDLE_MS_DEFAULT = 60_000;

interface DisksOptions {
  readonly directory: string;
  /** Size of the disks that are made ahead. */
  readonly diskGb: number;
  /** Number of disks kept ready. */
  readonly spares: number;
  /** How long the disk of a stopped computer stays mounted: mounting it again would slow a restart. */
  readonly idleMs?: number | undefined;
  readonly logger: Logger;
  /** When aborted, no disk is made ahead. */
  readonly killed?: AbortSignal | undefined;
}

/** Starts no host program, because running computers wait for this to return. */
export async function openDisks(options: DisksOptions): Promise<Disks> {
  const folder = await openDiskFolder(options.directory);
  const computers = await folder.computers();
  const mounted = await folder.mounted();
  const disks = new Disks(options, folder, computers);
  // One whose computer is taken over in time stays mounted.
  for (const [id, disk] of computers) if (mounted.has(disk)) disks.unmountLater(id);
  return disks;
}

export class Disks {
  readonly #options: DisksOptions;
  readonly #folder: DiskFolder;
  /** Computer id -> name of its disk. */
  readonly #disks: Map<string, string>;
  readonly #spares: Spares<string>;
  /** Computers that stopped recently and whose disk is still mounted. */
  readonly #idle = new Map<string, NodeJS.Timeout>();
  readonly #locks = new Locks();
  #unusable: string | null | undefined;

  constructor(options: DisksOptions, folder: DiskFolder, disks: Map<string, string>) {
    this.#options = options;
    this.#folder = folder;
    this.#disks = disks;
    this.#spares = new Spares({
      ...options,
      name: 'disk',
      size: options.spares,
      make: () => this.#make(options.diskGb),
      destroy: (disk) => this.#destroy(disk),
    });
  }

  /**
   * Removes disks without an owner that an earlier agent left, and tests whether this host can make and mount a disk.
   * Existing disks are usable before this call; new disks are made only after it. Repeat it while disks are `unusable`.
   */
  async prove(): Promise<void> {
    const { logger, diskGb } = this.#options;
    await this.#folder
      .clear(new Set(this.#disks.values()))
      .catch((error: unknown) => logger.warn({ err: error }, 'disks without an owner could not be removed'));
    try {
      this.#spares.start(await this.#make(diskGb));
      this.#unusable = null;
    } catch (error) {
      this.#unusable = (error as Error).message;
    }
  }

  /** Why no disk can be made on this host. null: disks work. undefined: not known yet. */
  get unusable(): string | null | undefined {
    return this.#unusable;
  }

  /** No computer has a disk. */
  get isEmpty(): boolean {
    return this.#disks.size === 0;
  }

  has(computerId: string): boolean {
    return this.#disks.has(computerId);
  }

  /** Whether the computer's disk is still on the host. */
  async exists(computerId: string): Promise<boolean> {
    const disk = this.#disks.get(computerId);
    if (disk === undefined) return false;
    return (await stat(this.#folder.image(disk)).catch(nullWhenMissing)) !== null;
  }

  /** Path of the computer's files on its mounted disk. */
  files(computerId: string): string {
    return join(this.#folder.mount(this.#diskOf(computerId)), 'files');
  }

  /** Path of its uploads in progress. */
  incoming(computerId: string): string {
    return join(this.#folder.mount(this.#diskOf(computerId)), 'incoming');
  }

  /** Gives the computer a mounted disk, or mounts its existing one. */
  create(computerId: string, diskGb = this.#options.diskGb): Promise<void> {
    return this.#exclusively(computerId, async () => {
      const own = this.#disks.get(computerId);
      if (own !== undefined) return this.#mount(own);
      const disk = (await this.#claim(diskGb)) ?? (await this.#make(diskGb));
      await symlink(disk, this.#folder.computer(computerId));
      this.#disks.set(computerId, disk);
    });
  }

  /** Does nothing if the disk is mounted. @throws ServiceError `computer_failed` */
  mount(computerId: string): Promise<void> {
    return this.#exclusively(computerId, () => this.#mount(this.#diskOf(computerId)));
  }

  /** Unmounts the disk after a while, unless it is mounted or deleted before. */
  unmountLater(computerId: string): void {
    clearTimeout(this.#idle.get(computerId));
    const { idleMs = IDLE_MS_DEFAULT } = this.#options;
    const timer = setTimeout(() => void this.#unmount(computerId), idleMs);
    this.#idle.set(computerId, timer.unref());
  }

  /** Deletes the disk and its files. Does nothing if the computer has no disk. */
  delete(computerId: string): Promise<void> {
    return this.#exclusively(computerId, async () => {
      const disk = this.#disks.get(computerId);
      if (disk === undefined) return;
      // Remove the link first: after a crash at this point the next agent removes the disk.
      await rm(this.#folder.computer(computerId), { force: true });
      await this.#destroy(disk);
      this.#disks.delete(computerId); // last: a repeated deletion must find the disk that is left
    });
  }

  /** Resolves when as many disks are ready as wanted. */
  filled(): Promise<void> {
    return this.#spares.filled();
  }

  /** Unmounts idle disks and removes ready ones, also those of an earlier agent. Keeps the disks of computers. */
  async close(): Promise<void> {
    await Promise.all([...this.#idle.keys()].map((id) => this.#unmount(id)));
    await this.#spares.close();
    if (this.#unusable === undefined) await this.#folder.clear(new Set(this.#disks.values()));
    await this.#locks.idle();
  }

  async #make(diskGb: number): Promise<string> {
    const disk = randomBytes(8).toString('hex');
    try {
      await formatDisk(this.#folder.image(disk), diskGb);
      await this.#folder.mountWithFolders(disk);
    } catch (error) {
      await this.#destroy(disk).catch(() => {}); // the next agent removes what is left
      throw error;
    }
    return disk;
  }

  /** A ready disk, or undefined if there is none or it was unmounted by another program. */
  async #claim(diskGb: number): Promise<string | undefined> {
    const disk = diskGb === this.#options.diskGb ? this.#spares.claim() : undefined;
    if (disk === undefined) return undefined;
    return (await isFileSystem(this.#folder.mount(disk))) ? disk : undefined;
  }

  async #mount(disk: string): Promise<void> {
    // Also after a `mount` that failed by its timeout: the kernel may have completed it.
    if (await isFileSystem(this.#folder.mount(disk))) return;
    try {
      await this.#folder.mountWithFolders(disk);
    } catch (error) {
      throw new ServiceError('computer_failed', 'the computer’s disk cannot be mounted on its host now', {
        cause: error,
      });
    }
  }

  /** Unmounts the disk, unless a slot shows it: an agent that starts may take a while to take its computer over. */
  async #unmount(computerId: string): Promise<void> {
    try {
      await this.#exclusively(computerId, async () => {
        const disk = this.#disks.get(computerId);
        if (disk === undefined || (await this.#isShown(disk))) return;
        await unmountDisk(this.#folder.mount(disk));
      });
    } catch (error) {
      this.#options.logger.warn({ err: error, computer: computerId }, 'disk unmount failed');
    }
  }

  /** Whether the disk's files are mounted in a slot. */
  async #isShown(disk: string): Promise<boolean> {
    const table = await mounts();
    const own = table.find(({ point }) => point === this.#folder.mount(disk));
    return table.some(({ device, root }) => device === own?.device && root === '/files');
  }

  async #destroy(disk: string): Promise<void> {
    await unmountDisk(this.#folder.mount(disk));
    await rm(this.#folder.image(disk), { force: true });
  }

  #diskOf(computerId: string): string {
    const disk = this.#disks.get(computerId);
    if (disk === undefined) throw new Error(`the computer ${computerId} has no disk`);
    return disk;
  }

  /** Runs one operation at a time per computer, and cancels its pending unmount. */
  #exclusively<T>(computerId: string, work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idle.get(computerId));
    this.#idle.delete(computerId);
    return this.#locks.run(computerId, work);
  }
}
