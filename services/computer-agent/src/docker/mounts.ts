// Makes a host directory appear in a container that is running already.
//
// A container is started with an empty directory of a shared mount as its /workspace, and follows the mounts made
// there (rslave). Bind-mounting a computer's files on that directory on the host makes them appear inside.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, realpath } from 'node:fs/promises';
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
        // Lazily: a process that still looks into it must not keep the computer from ending.
        await mountCommand('umount', '--lazy', pathOf(slot));
      }
      // With what was written there, if somebody took the mount away while the computer ran.
      await run('rm', ['-rf', '--one-file-system', '--', pathOf(slot)], { timeout: MOUNT_TIMEOUT_MS });
    },
    list: () => readdir(directory),
  };
}

/** Ends the shared mount itself, when no slot is left in it. */
export async function closeMountSlots(path: string): Promise<void> {
  const directory = await realpath(path);
  if ((await mountPoints()).includes(directory)) await mountCommand('umount', '--lazy', directory);
}

/** Every mount point of this process's name space, one entry for each mount. */
export async function mountPoints(): Promise<string[]> {
  return (await readMounts()).map(({ point }) => point);
}

/** The device (or whatever else) that is mounted there, uppermost; undefined: nothing is. */
export async function sourceOfMount(point: string): Promise<string | undefined> {
  return (await readMounts()).findLast((mount) => mount.point === point)?.source;
}

/** The kernel's table: `… <mount point> <options> … - <file system> <source> <options>`, the newest last. */
async function readMounts(): Promise<{ point: string; source: string }[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      return {
        point: unescapePath(before.split(' ')[4] ?? ''),
        source: unescapePath(after.split(' ')[1] ?? ''),
      };
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
