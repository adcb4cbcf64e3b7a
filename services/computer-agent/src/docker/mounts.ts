// Makes a host directory appear in a running container.
//
// A container starts with an empty directory of a shared mount as its /workspace, and receives mounts made there
// (rslave). Bind-mounting a computer's files on that directory on the host makes them appear inside.
import { mkdir, readdir, readFile, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from './host-programs.ts';

const MOUNT_TIMEOUT_MS = 30_000;
/** Maximum stacked mounts on one slot. */
const UNMOUNTS_MAX = 8;

export type MountSlots = Awaited<ReturnType<typeof openMountSlots>>;

/** @throws where this process may not mount: then containers get their workspace when they are created */
export async function openMountSlots(path: string) {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await realpath(path); // as in the kernel's mount table
  const own = (await mounts()).findLast(({ point }) => point === directory);
  if (!own) await bindByCommand(directory, directory);
  if (!own?.shared) await mountCommand('mount', '--make-rshared', directory);

  const pathOf = (slot: string) => join(directory, slot);
  return {
    /** Directory of a slot, to be mounted as the container's /workspace. */
    directory: pathOf,
    create: (slot: string): Promise<void> => mkdir(pathOf(slot), { mode: 0o755 }),
    /** Mounts `source` on the slot. */
    mount: (slot: string, source: string): Promise<void> => bindByCommand(source, pathOf(slot)),
    /** Whether the slot shows `source`. */
    shows: (slot: string, source: string): Promise<boolean> => isSameFile(pathOf(slot), source),
    /** Unmounts and removes the slot; keeps the mounted files. Does nothing if the slot is gone. */
    async remove(slot: string): Promise<void> {
      // If the parent mount is shared as well (systemd hosts), each mount appears twice in the table and one unmount
      // removes both. So read the table again.
      for (let unmounts = 0; (await mountPoints()).includes(pathOf(slot)); unmounts += 1) {
        if (unmounts === UNMOUNTS_MAX) throw new Error(`${pathOf(slot)} stays mounted`);
        await unmount(pathOf(slot));
      }
      await rmdir(pathOf(slot)).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return;
        if (error.code !== 'ENOTEMPTY') throw error;
        // The mount was removed while the computer ran, and the computer wrote to the slot.
        await runProgram('rm', ['-rf', '--one-file-system', '--', pathOf(slot)], {
          timeout: MOUNT_TIMEOUT_MS,
        });
      });
    },
    list: (): Promise<string[]> => readdir(directory),
    /** Slots on which nothing is mounted. */
    async empty(): Promise<string[]> {
      const points = await mountPoints();
      return (await readdir(directory)).filter((slot) => !points.includes(pathOf(slot)));
    },
  };
}

/** Ends the shared mount itself, when no slot is left in it. */
export async function closeMountSlots(path: string): Promise<void> {
  const directory = await realpath(path);
  if ((await mountPoints()).includes(directory)) await unmount(directory);
}

export interface Mount {
  /** Device numbers as the kernel writes them: equal for two mounts of one file system. */
  readonly device: string;
  /** What is mounted: a path in that file system. */
  readonly root: string;
  readonly point: string;
  /** A device or another source. */
  readonly source: string;
  /** Mounts below it propagate to its peers. */
  readonly shared: boolean;
}

/** Every mount point of this process's namespace, one entry for each mount. */
export async function mountPoints(): Promise<string[]> {
  return (await mounts()).map(({ point }) => point);
}

/** Device or other source of the uppermost mount there; undefined: none. */
export async function sourceOfMount(point: string): Promise<string | undefined> {
  return (await mounts()).findLast((mount) => mount.point === point)?.source;
}

/**
 * Every mount of this process's namespace, the newest last. The kernel's table:
 * `<id> <parent> <device> <root> <mount point> <options> <tags> … - <type> <source> <options>`.
 */
export async function mounts(): Promise<Mount[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , device = '', root = '', point = '', , ...tags] = before.split(' ');
      const [, source = ''] = after.split(' ');
      return {
        device,
        root: unescapePath(root),
        point: unescapePath(point),
        source: unescapePath(source),
        shared: tags.some((tag) => tag.startsWith('shared:')),
      };
    });
}

/**
 * Whether a separate file system is mounted there. One system call; reading the mount table takes milliseconds with
 * hundreds of mounts.
 */
export async function isFileSystem(point: string): Promise<boolean> {
  try {
    const [own, around] = await Promise.all([stat(point), stat(dirname(point))]);
    return own.dev !== around.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([stat(one, { bigint: true }), stat(other, { bigint: true })]);
  return a.dev === b.dev && a.ino === b.ino;
}

/** The kernel writes blanks and the like as \040. */
function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mounts a directory on another one. @throws as `mountCommand` */
export function bindByCommand(source: string, point: string): Promise<void> {
  return mountCommand('mount', '--bind', source, point);
}

/** @throws with the program's output */
export async function mountCommand(program: 'mount' | 'umount', ...options: string[]): Promise<void> {
  await runProgram(program, options, { timeout: MOUNT_TIMEOUT_MS });
}

/**
 * Lazy: a process that still uses the mount must not keep the computer from ending. Does nothing if it is unmounted
 * already. @throws with the program's output
 */
export async function unmount(point: string): Promise<void> {
  try {
    await mountCommand('umount', '--lazy', point);
  } catch (error) {
    if ((await mountPoints()).includes(point)) throw error;
  }
}
