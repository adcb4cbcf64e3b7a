// The directory that a build works in, and what a builder that was killed left of its own.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Not /tmp: it may be small, in memory, or without devices, which debootstrap needs. */
const PARENT = '/var/tmp';

/**
 * Runs `work` with an empty directory that is gone afterwards. Directories of the same name that are there already
 * are removed first: only the holder of a lock on `name` may call this.
 */
export async function withWorkDirectory<T>(
  name: string,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  const prefix = `switchyard-build-${name}-`;
  for (const left of await readdir(PARENT)) {
    if (left.startsWith(prefix)) await remove(join(PARENT, left));
  }
  const directory = await mkdtemp(join(PARENT, prefix));
  try {
    return await work(directory);
  } finally {
    await remove(directory);
  }
}

/** A debootstrap that was killed leaves /proc mounted in its tree: it must neither stay nor be descended into. */
async function remove(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${directory}/`));
  for (const point of mounts.reverse()) await run('umount', ['--lazy', point]);
  await run('rm', ['-rf', '--one-file-system', '--', directory]);
}
