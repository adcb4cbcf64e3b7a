// The disk of a computer: a file system of its own, of fixed size, in a sparse file of the host. What is written inside
// can fill that disk, bytes and inodes, and no other; and a computer is deleted by deleting one file.
//
//   images/<disk>.ext4   the file systems          mounts/<disk>/files      what the computer sees as /workspace
//   computers/<id>       a link: whose disk        mounts/<disk>/incoming   files on their way in (staging.ts)
//
// A disk is made and mounted ahead of need, and is a computer's from the moment of its link: a creation waits for nothing,
// and a crash leaves a disk with its computer or one that is nobody's, which the next agent takes away. It is mounted
// while its computer runs.
import { randomBytes } from 'node:crypto';
import { access, mkdir, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { Lock } from '@switchyard/service';
import { isFileSystem, mountPoints } from '../docker/mounts.ts';
import { formatDisk, mountDisk, unmountDisk } from './disk-image.ts';
import type { HostLogger } from './logger.ts';

/** The disk that replaces a claimed one is made a little later: whoever claimed it has a first command to run. */
const REFILL_PAUSE_MS = 500;
const IMAGE_SUFFIX = '.ext4';

export interface DisksOptions {
  readonly directory: string;
  /** The size of disks that are made ahead. */
  readonly diskGb: number;
  /** Disks that wait for a computer. */
  readonly spares: number;
  /** Resolves when it is a good time to make one. */
  readonly quiet: () => Promise<void>;
  readonly logger: HostLogger;
}

export interface Disks {
  /**
   * Takes away what an earlier agent left and is nobody's, and finds out whether this host can make and mount a disk. Those
   * of computers can be used before; none is made before. Once.
   */
  prove(): Promise<void>;
  /** Why no disk can be made on this host; null where it can, undefined where that is not known yet. */
  readonly unusable: string | null | undefined;
  has(computerId: string): boolean;
  /** Whether the disk that it has is still on the host. */
  exists(computerId: string): Promise<boolean>;
  /** Computers whose disk is mounted. */
  mounted(): string[];
  /** Folders of a mounted disk. */
  files(computerId: string): string;
  incoming(computerId: string): string;
  /** Gives the computer a mounted disk, or mounts the one that it has. */
  create(computerId: string, diskGb?: number): Promise<void>;
  /** Nothing happens if it is mounted. @throws ServiceError `computer_failed` */
  mount(computerId: string): Promise<void>;
  /** Nothing happens if it is not. What a container still sees of it goes with the container. */
  unmount(computerId: string): Promise<void>;
  /** For good. Nothing happens if there is none. */
  delete(computerId: string): Promise<void>;
  /** Resolves when as many disks wait as there shall be. */
  filled(): Promise<void>;
  /** Ends the disks that wait, also an earlier agent's; leaves those of computers as they are. */
  close(): Promise<void>;
}

/** Takes no program of the host: computers that run are waited for. */
export async function openDisks(options: DisksOptions): Promise<Disks> {
  const { spares, diskGb: spareGb, quiet, logger } = options;
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const folder = await openFolder(await realpath(options.directory)); // as the kernel's table of mounts has it
  /** Computer -> its disk. */
  const disks = await folder.computers();
  const mounted = new Set<string>();
  for (const point of await mountPoints()) if (point.startsWith(folder.mounts)) mounted.add(basename(point));

  const waiting: string[] = [];
  const closing = new AbortController();
  const make = async (diskGb: number) => {
    const disk = randomBytes(8).toString('hex');
    await formatDisk(folder.image(disk), diskGb);
    await mountWithFolders(folder.image(disk), folder.mount(disk));
    mounted.add(disk);
    return disk;
  };
  const destroy = async (disk: string) => {
    await unmountDisk(folder.mount(disk));
    mounted.delete(disk);
    await rm(folder.image(disk), { force: true });
  };
  let filling: Promise<void> = Promise.resolve();
  const fill = async () => {
    while (waiting.length < spares && !closing.signal.aborted) {
      await delay(REFILL_PAUSE_MS, undefined, { signal: closing.signal }).catch(() => {});
      await quiet();
      if (!closing.signal.aborted) waiting.push(await make(spareGb));
    }
  };
  const refill = () => {
    filling = filling
      .then(fill)
      .catch((error: unknown) => logger.warn({ err: error }, 'no disk could be made ahead of need'));
  };

  let unusable: string | null | undefined;
  const prove = async () => {
    await folder
      .clear(new Set(disks.values()))
      .catch((error: unknown) => logger.warn({ err: error }, 'disks of nobody are left over'));
    try {
      waiting.push(await make(spareGb));
      unusable = null;
      refill();
    } catch (error) {
      unusable = (error as Error).message;
    }
  };

  /** A disk that waited; undefined: none does, or somebody unmounted it. */
  const claim = async (diskGb: number): Promise<string | undefined> => {
    const disk = diskGb === spareGb ? waiting.shift() : undefined;
    if (disk === undefined) return undefined;
    refill();
    return (await isFileSystem(folder.mount(disk))) ? disk : undefined;
  };
  const mount = async (disk: string) => {
    if (mounted.has(disk) && (await isFileSystem(folder.mount(disk)))) return;
    try {
      await mountWithFolders(folder.image(disk), folder.mount(disk));
    } catch (error) {
      throw new ServiceError('computer_failed', 'the computer’s disk cannot be mounted on its host now', {
        cause: error,
      });
    }
    mounted.add(disk);
  };
  const unmount = async (disk: string) => {
    await unmountDisk(folder.mount(disk));
    mounted.delete(disk);
  };
  const diskOf = (id: string): string => {
    const disk = disks.get(id);
    if (disk === undefined) throw new Error(`the computer ${id} has no disk, and should have one`);
    return disk;
  };

  const locks = new Map<string, Lock>();
  /** One thing at a time with the disk of each computer. */
  const exclusively = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    const lock = locks.get(id) ?? new Lock();
    locks.set(id, lock);
    try {
      return await lock.run(work);
    } finally {
      if (lock.free) locks.delete(id);
    }
  };

  return {
    prove,
    get unusable() {
      return unusable;
    },
    has: (id) => disks.has(id),
    async exists(id) {
      const disk = disks.get(id);
      if (disk === undefined) return false;
      return access(folder.image(disk)).then(
        () => true,
        () => false,
      );
    },
    mounted: () => [...disks].filter(([, disk]) => mounted.has(disk)).map(([id]) => id),
    files: (id) => join(folder.mount(diskOf(id)), 'files'),
    incoming: (id) => join(folder.mount(diskOf(id)), 'incoming'),
    create: (id, diskGb = spareGb) =>
      exclusively(id, async () => {
        const own = disks.get(id);
        if (own !== undefined) return mount(own);
        const disk = (await claim(diskGb)) ?? (await make(diskGb));
        await symlink(disk, folder.computer(id));
        disks.set(id, disk);
      }),
    mount: (id) => exclusively(id, () => mount(diskOf(id))),
    unmount: (id) =>
      exclusively(id, async () => {
        const disk = disks.get(id);
        if (disk !== undefined) await unmount(disk);
      }),
    delete: (id) =>
      exclusively(id, async () => {
        const disk = disks.get(id);
        if (disk === undefined) return;
        // The link first: a deletion that is cut short leaves a disk that is nobody's.
        await rm(folder.computer(id), { force: true });
        disks.delete(id);
        await destroy(disk);
      }),
    filled: () => filling,
    async close() {
      closing.abort();
      await filling;
      if (unusable === undefined) await folder.clear(new Set(disks.values()));
      await Promise.all([...locks.values()].map((lock) => lock.run(() => {})));
      await Promise.all(waiting.splice(0).map(destroy));
    },
  };
}

/** The names in the folder of disks, and what an earlier agent left there. */
async function openFolder(root: string) {
  const images = join(root, 'images');
  const mounts = join(root, 'mounts');
  const computers = join(root, 'computers');
  for (const path of [images, mounts, computers]) await mkdir(path, { recursive: true, mode: 0o700 });
  const image = (disk: string) => join(images, `${disk}${IMAGE_SUFFIX}`);
  const mount = (disk: string) => join(mounts, disk);
  const computer = (id: string) => join(computers, id);
  return {
    mounts: `${mounts}/`,
    image,
    mount,
    computer,
    async computers(): Promise<Map<string, string>> {
      const ids = await readdir(computers);
      return new Map(
        await Promise.all(
          ids.map(async (id): Promise<[string, string]> => [id, await readlink(computer(id))]),
        ),
      );
    },
    /** Takes away disks that are nobody's: those that waited, and those that were being deleted. */
    async clear(owned: ReadonlySet<string>): Promise<void> {
      for (const disk of await readdir(mounts)) if (!owned.has(disk)) await unmountDisk(mount(disk));
      for (const name of await readdir(images))
        if (!owned.has(basename(name, IMAGE_SUFFIX))) await rm(join(images, name), { force: true });
    },
  };
}

async function mountWithFolders(image: string, at: string): Promise<void> {
  await mountDisk(image, at);
  await mkdir(join(at, 'files'), { recursive: true, mode: 0o755 });
  await mkdir(join(at, 'incoming'), { recursive: true, mode: 0o700 });
}
