// The disk of a container: everything written in a computer outside of /workspace lands on a file system of fixed
// size (disk-image.ts) and is removed with the container. Without it, `fallocate -l 1T /x`, a million files in /tmp
// or a growing /etc/hosts would fill the host's disk.
//
//   images/<slot>.ext4   the file systems          mounts/<slot>/layer       overlay of the image's files
//                                                  mounts/<slot>/volumes/<n> volumes that the image declares
//                                                  mounts/<slot>/etc         hosts, hostname, resolv.conf
//
// Docker has no container quota on most file systems (`--storage-opt size` needs xfs with pquota). Between creation
// and start, the agent copies the folder of the writable layer to the disk and mounts the disk over it, so the engine
// overlays the disk. The engine unmounts it when it removes the container. The first container proves that this works
// with the present engine (`isOn`).
import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { WritablePlaces } from '../docker/engine.ts';
import { runProgram } from '../docker/host-programs.ts';
import { bindByCommand, mounts, unmount } from '../docker/mounts.ts';
import { formatDisk, mountDisk, unmountDisk } from './disk-image.ts';

const COPY_TIMEOUT_MS = 60_000;
const IMAGE_SUFFIX = '.ext4';

interface SystemDisk {
  /** Folder of the files to mount in /etc. */
  readonly networkFiles: string;
  /** Moves the writable folders of a created, not yet started container to the disk. @throws if it cannot */
  moveWritable(places: WritablePlaces): Promise<void>;
}

export type SystemDisks = Awaited<ReturnType<typeof openSystemDisks>>;

/** @param diskGb size of each disk; unwritten space takes no room */
export async function openSystemDisks(directory: string, diskGb: number) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const root = await realpath(directory); // the kernel's mount table has resolved paths
  const images = join(root, 'images');
  for (const path of [images, join(root, 'mounts')]) await mkdir(path, { recursive: true, mode: 0o700 });
  const imageOf = (slot: string) => join(images, `${slot}${IMAGE_SUFFIX}`);
  const mountOf = (slot: string) => join(root, 'mounts', slot);

  /** Mounts a folder of the disk over `folder`, with a copy of its content, owners and modes. */
  const cover = async (folder: string, onDisk: string) => {
    await runProgram('cp', ['--archive', '--no-target-directory', '--', folder, onDisk], {
      timeout: COPY_TIMEOUT_MS,
    });
    await bindByCommand(onDisk, folder);
  };

  return {
    /** Makes a disk for the container of this slot. @param files of /etc, by name @throws if it cannot */
    async create(slot: string, files: Readonly<Record<string, string>>): Promise<SystemDisk> {
      const at = mountOf(slot);
      await formatDisk(imageOf(slot), diskGb, { disposable: true });
      await mountDisk(imageOf(slot), at);
      const networkFiles = join(at, 'etc');
      await mkdir(networkFiles);
      for (const [name, text] of Object.entries(files)) await writeFile(join(networkFiles, name), text);
      await mkdir(join(at, 'volumes'));
      return {
        networkFiles,
        async moveWritable({ layer, volumes }) {
          for (const [n, volume] of volumes.entries()) await cover(volume, join(at, 'volumes', String(n)));
          await cover(layer, join(at, 'layer'));
        },
      };
    },
    /** Whether a file created in the container, at an absolute path, is on its disk. */
    isOn: (slot: string, path: string): boolean => existsSync(join(mountOf(slot), 'layer', 'diff', path)),
    /**
     * Call before the engine removes a container, so that it can remove the volumes. A running container keeps them.
     */
    async uncoverVolumes(slot: string): Promise<void> {
      for (const point of await coveredBy(mountOf(slot), '/volumes/')) await unmount(point);
    },
    /** Call when the container is gone. Does nothing if there is no disk. */
    async remove(slot: string): Promise<void> {
      for (const point of await coveredBy(mountOf(slot), '/')) await unmount(point);
      await unmountDisk(mountOf(slot));
      await rm(imageOf(slot), { force: true });
    },
    /** Slots that have a disk. */
    list: async (): Promise<string[]> => (await readdir(images)).map((name) => basename(name, IMAGE_SUFFIX)),
  };
}

/** Where folders of the disk mounted at `disk` are mounted elsewhere, last one first. */
async function coveredBy(disk: string, folders: '/' | '/volumes/'): Promise<string[]> {
  const table = await mounts();
  const own = table.find(({ point }) => point === disk);
  if (!own) return [];
  return table
    .filter(({ device, root, point }) => device === own.device && root.startsWith(folders) && point !== disk)
    .map(({ point }) => point)
    .reverse();
}
