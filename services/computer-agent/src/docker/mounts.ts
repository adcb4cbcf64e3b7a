// Makes a host directory appear in a container that is running already.
//
// A container is started with an empty directory of a shared mount as its /workspace, and follows the mounts made
// there (rslave). Bind-mounting a computer's files on that directory on the host makes them appear inside.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MOUNT_TIMEOUT_MS = 10_000;
/** Of one slot, each from under the other. */
const UNMOUNTS_MAX = 8;

export interface MountSlots {
  /** The directory of a slot: give it to the container as its /workspace. */
  directory(slot: string): string;
  create(slot: string): Promise<void>;
  /** Mounts `source` on the slot. */
  mount(slot: string, source: string): Promise<void>;
  isMounted(slot: string): Promise<boolean>;
  /** Unmounts and removes the slot; the mounted files stay. Nothing happens if it is gone already. */
  remove(slot: string): Promise<void>;
  list(): Promise<string[]>;
}

/** Throws where this process may not mount: then containers get their workspace when they are created. */
export async function openMountSlots(path: string): Promise<MountSlots> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await realpath(path); // as the kernel's table of mounts has it
  const points = await mountPoints();
  if (!points.includes(directory)) await mountCommand('mount', '--bind', directory, directory);
  await mountCommand('mount', '--make-rshared', directory);

  const pathOf = (slot: string) => join(directory, slot);
  return {
    directory: pathOf,
    async create(slot) {
      await mkdir(pathOf(slot), { mode: 0o755 });
    },
    async mount(slot, source) {
      await mountCommand('mount', '--bind', source, pathOf(slot));
    },
    isMounted: async (slot) => (await mountPoints()).includes(pathOf(slot)),
    async remove(slot) {
      // Where the directory's own mount is shared as well (systemd's hosts), each mount shows twice in the table, and one
      // unmount takes both away: so the table is read again.
      for (let unmounts = 0; (await mountPoints()).includes(pathOf(slot)); unmounts += 1) {
        if (unmounts === UNMOUNTS_MAX) throw new Error(`${pathOf(slot)} stays mounted`);
        await unmount(pathOf(slot));
      }
      await rmdir(pathOf(slot)).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return;
        if (error.code !== 'ENOTEMPTY') throw error;
        // Somebody took the mount away while the computer ran, and it wrote.
        await run('rm', ['-rf', '--one-file-system', '--', pathOf(slot)], { timeout: MOUNT_TIMEOUT_MS });
      });
    },
    list: () => readdir(directory),
  };
}

/** Ends the shared mount itself, when no slot is left in it. */
export async function closeMountSlots(path: string): Promise<void> {
  const directory = await realpath(path);
  if ((await mountPoints()).includes(directory)) await unmount(directory);
}

export interface Mount {
  /** Its numbers, as the kernel writes them: two mounts of one file system have the same. */
  readonly device: string;
  /** What is mounted: a path in that file system. */
  readonly root: string;
  readonly point: string;
  /** The device, or whatever else. */
  readonly source: string;
}

/** Every mount point of this process's name space, one entry for each mount. */
export async function mountPoints(): Promise<string[]> {
  return (await mounts()).map(({ point }) => point);
}

/** The device (or whatever else) that is mounted there, uppermost; undefined: nothing is. */
export async function sourceOfMount(point: string): Promise<string | undefined> {
  return (await mounts()).findLast((mount) => mount.point === point)?.source;
}

/**
 * Every mount of this process's name space, the newest last. The kernel's table:
 * `<id> <parent> <device> <root> <mount point> <options> … - <file system> <source> <options>`.
 */
export async function mounts(): Promise<Mount[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , device = '', root = '', point = ''] = before.split(' ');
      const [, source = ''] = after.split(' ');
      return { device, root: unescapePath(root), point: unescapePath(point), source: unescapePath(source) };
    });
}

/** The kernel writes blanks and the like as \040. */
function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Throws with what the program said. */
export async function mountCommand(program: 'mount' | 'umount', ...options: string[]): Promise<void> {
  await run(program, options, { timeout: MOUNT_TIMEOUT_MS });
}

/**
 * Lazily: a process that still looks into it must not keep the computer from ending. Nothing happens if somebody else
 * has done it meanwhile. Throws with what the program said.
 */
export async function unmount(point: string): Promise<void> {
  try {
    await mountCommand('umount', '--lazy', point);
  } catch (error) {
    if ((await mountPoints()).includes(point)) throw error;
  }
}
