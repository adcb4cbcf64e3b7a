// The working directory of a build. Removes those of builders that were killed.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Not /tmp: it may be small, in memory, or without devices, which debootstrap needs. */
export const WORK_PARENT = '/var/tmp';

/**
 * Runs `work` with an empty directory, which is removed afterwards. Removes other directories of the same name first,
 * so only the holder of the lock on `name` may call this.
 */
export async function withWorkDirectory<T>(
  name: string,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  const prefix = `switchyard-build-${name}-`;
  for (const left of await readdir(WORK_PARENT)) {
    if (left.startsWith(prefix)) await remove(join(WORK_PARENT, left));
  }
  const directory = await mkdtemp(join(WORK_PARENT, prefix));
  try {
    return await work(directory);
  } finally {
    await remove(directory);
  }
}

/** A killed debootstrap leaves /proc mounted in its tree. Unmount it first, so that `rm` does not descend into it. */
async function remove(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${directory}/`));
  for (const point of mounts.reverse()) await run('umount', ['--lazy', point]);
  await run('rm', ['-rf', '--one-file-system', '--', directory]);
}
