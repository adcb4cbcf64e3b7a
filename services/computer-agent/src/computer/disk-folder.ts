// Where the disks of computers are on this host.
//
//   images/<disk>.ext4   the file systems            mounts/<disk>/files      mounted as /workspace in the computer
//   computers/<id>       link to the computer's disk mounts/<disk>/incoming   uploads in progress (staging.ts)
import { mkdir, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { mountPoints } from '../docker/mounts.ts';
import { mountDisk, unmountDisk } from './disk-image.ts';

const IMAGE_SUFFIX = '.ext4';

export type DiskFolder = Awaited<ReturnType<typeof openDiskFolder>>;

export async function openDiskFolder(directory: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const root = await realpath(directory); // the kernel's mount table has resolved paths
  const images = join(root, 'images');
  const mounts = join(root, 'mounts');
  const computers = join(root, 'computers');
  for (const path of [images, mounts, computers]) await mkdir(path, { recursive: true, mode: 0o700 });
  const image = (disk: string) => join(images, `${disk}${IMAGE_SUFFIX}`);
  const mount = (disk: string) => join(mounts, disk);
  const computer = (id: string) => join(computers, id);
  return {
    image,
    mount,
    computer,
    /** Computer id -> name of its disk. */
    async computers(): Promise<Map<string, string>> {
      const ids = await readdir(computers);
      const disks = await Promise.all(ids.map((id) => readlink(computer(id))));
      return new Map(ids.map((id, at) => [id, disks[at] as string]));
    },
    /** Names of mounted disks. */
    async mounted(): Promise<Set<string>> {
      const points = await mountPoints();
      return new Set(
        points.filter((point) => point.startsWith(`${mounts}/`)).map((point) => basename(point)),
      );
    },
    /** Mounts a disk, with its folders. */
    async mountWithFolders(disk: string): Promise<void> {
      await mountDisk(image(disk), mount(disk));
      await mkdir(join(mount(disk), 'files'), { recursive: true, mode: 0o755 });
      await mkdir(join(mount(disk), 'incoming'), { recursive: true, mode: 0o700 });
    },
    /**
     * Removes disks without an owner: ready disks, and disks whose deletion was interrupted.
     * @throws AggregateError when some could not be unmounted; all others are removed
     */
    async clear(owned: ReadonlySet<string>): Promise<void> {
      const failures: unknown[] = [];
      for (const disk of await readdir(mounts))
        if (!owned.has(disk)) await unmountDisk(mount(disk)).catch((error: unknown) => failures.push(error));
      for (const name of await readdir(images))
        if (!owned.has(basename(name, IMAGE_SUFFIX))) await rm(join(images, name), { force: true });
      if (failures.length > 0) throw new AggregateError(failures, 'disks were not unmounted');
    },
  };
}
