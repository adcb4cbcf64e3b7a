// The disk of a container: all that is written in a computer outside of its /workspace lands on a file system of fixed size
// (disk-image.ts), and goes with the container. Without one, `fallocate -l 1T /x`, a million files in /tmp or a file that
// grows as /etc/hosts would fill the disk of the host.
//
//   images/<slot>.ext4   the file systems          mounts/<slot>/layer       what the image's files are overlaid with
//                                                  mounts/<slot>/volumes/<n> volumes that the image declares
//                                                  mounts/<slot>/etc         hosts, hostname, resolv.conf
//
// Docker has no quota for a container on most file systems (`--storage-opt size` wants xfs with pquota). So, between a
// container's creation and its start, the folder of its writable layer is copied to its disk and covered by it: what the
// engine then overlays is on the disk. The engine itself unmounts what covers the folder when it removes the container.
// Whether all this works with the engine at hand is proven by the first container (`isOn`).
import { access, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { COMPUTER_HOSTNAME, type WritablePlaces } from '../docker/engine.ts';
import { runProgram } from '../docker/host-programs.ts';
import { bindByCommand, mounts, unmount } from '../docker/mounts.ts';
import { formatDisk, mountDisk, unmountDisk } from './disk-image.ts';

const COPY_TIMEOUT_MS = 60_000;
const IMAGE_SUFFIX = '.ext4';
/** The C library asks no more. */
const NAME_SERVERS_MAX = 3;
/** Root's to change, as on any machine; but on the disk, where the engine's own files would not be. */
const NETWORK_FILES = {
  hosts: `127.0.0.1\tlocalhost
127.0.1.1\t${COMPUTER_HOSTNAME}
::1\tlocalhost ip6-localhost ip6-loopback
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
`,
  hostname: `${COMPUTER_HOSTNAME}\n`,
} as const;
/** The engine's own, which asks those of the host. */
const NAME_SERVER_OF_ENGINE = '127.0.0.11';

export interface SystemDisk {
  /** Folder of the files that are mounted as /etc/hosts, /etc/hostname and /etc/resolv.conf. */
  readonly networkFiles: string;
  /** Puts what can be written in a container on the disk. It was created and not started. @throws where it cannot */
  carry(places: WritablePlaces): Promise<void>;
}

export interface SystemDisks {
  /**
   * A new disk for the container of this slot. @throws where it cannot be made
   * @param nameServers that it asks by itself; none: the engine's
   */
  create(slot: string, nameServers?: readonly string[]): Promise<SystemDisk>;
  /** Whether a file that was made in the container, at an absolute path, is on its disk. */
  isOn(slot: string, path: string): Promise<boolean>;
  /** So that the engine can remove a container's volumes: call it before. A running container keeps them. */
  uncoverVolumes(slot: string): Promise<void>;
  /** When the container is gone. Nothing happens if there is no disk. */
  remove(slot: string): Promise<void>;
  /** Slots that have one. */
  list(): Promise<string[]>;
}

/** @param diskGb size of each; what is not written takes no room */
export async function openSystemDisks(directory: string, diskGb: number): Promise<SystemDisks> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const root = await realpath(directory); // as the kernel's table of mounts has it
  const images = join(root, 'images');
  for (const path of [images, join(root, 'mounts')]) await mkdir(path, { recursive: true, mode: 0o700 });
  const imageOf = (slot: string) => join(images, `${slot}${IMAGE_SUFFIX}`);
  const mountOf = (slot: string) => join(root, 'mounts', slot);

  /** Covers a folder by one of the disk that has all that was in it, owners and modes included. */
  const cover = async (folder: string, onDisk: string) => {
    await runProgram('cp', ['--archive', '--no-target-directory', '--', folder, onDisk], {
      timeout: COPY_TIMEOUT_MS,
    });
    await bindByCommand(onDisk, folder);
  };

  return {
    async create(slot, nameServers = [NAME_SERVER_OF_ENGINE]) {
      const at = mountOf(slot);
      await formatDisk(imageOf(slot), diskGb, { disposable: true });
      await mountDisk(imageOf(slot), at);
      const networkFiles = join(at, 'etc');
      await mkdir(networkFiles);
      for (const [name, text] of Object.entries(NETWORK_FILES))
        await writeFile(join(networkFiles, name), text);
      const servers = nameServers.slice(0, NAME_SERVERS_MAX).map((address) => `nameserver ${address}\n`);
      await writeFile(join(networkFiles, 'resolv.conf'), `${servers.join('')}options ndots:0\n`);
      await mkdir(join(at, 'volumes'));
      return {
        networkFiles,
        async carry({ layer, volumes }) {
          for (const [n, volume] of volumes.entries()) await cover(volume, join(at, 'volumes', String(n)));
          await cover(layer, join(at, 'layer'));
        },
      };
    },
    isOn: (slot, path) =>
      access(join(mountOf(slot), 'layer', 'diff', path)).then(
        () => true,
        () => false,
      ),
    async uncoverVolumes(slot) {
      for (const point of await coveredBy(mountOf(slot), '/volumes/')) await unmount(point);
    },
    async remove(slot) {
      for (const point of await coveredBy(mountOf(slot), '/')) await unmount(point);
      await unmountDisk(mountOf(slot));
      await rm(imageOf(slot), { force: true });
    },
    list: async () => (await readdir(images)).map((name) => basename(name, IMAGE_SUFFIX)),
  };
}

/** Where else folders of the disk that is mounted at `disk` are mounted, the last one first. */
async function coveredBy(disk: string, folders: '/' | '/volumes/'): Promise<string[]> {
  const table = await mounts();
  const own = table.find(({ point }) => point === disk);
  if (!own) return [];
  return table
    .filter(({ device, root, point }) => device === own.device && root.startsWith(folders) && point !== disk)
    .map(({ point }) => point)
    .reverse();
}
