// Folders of deleted computers, removed one at a time by a program of bounded memory: a computer decides how many files
// it has, and how deep they are nested. The next agent removes what a dead one left.
import { mkdir, readdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Lock, type Logger } from '@switchyard/service';
import { runProgram } from '../docker/host-programs.ts';

/** Address space of `rm`, which keeps almost 1 KB for each level of folders. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024;

export type Trash = Awaited<ReturnType<typeof openTrash>>;

export async function openTrash(directory: string, logger: Logger) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const removals = new Lock();
  const remove = (tree: string) =>
    removals
      .run(() =>
        runProgram('prlimit', [`--as=${MEMORY_BYTES_MAX}`, 'rm', '-rf', '--one-file-system', '--', tree]),
      )
      .catch((error: unknown) => logger.warn({ err: error, tree }, 'A deleted folder is left on the host'));
  for (const name of await readdir(directory)) void remove(join(directory, name));
  return {
    /**
     * Takes a folder away, and removes it in the background. Does nothing if it does not exist. What cannot be removed
     * is logged and left to the next agent.
     */
    async take(folder: string): Promise<void> {
      // Rename first: a crash during the removal never leaves half a workspace under its id.
      const doomed = join(directory, `${basename(folder)}.${process.hrtime.bigint()}`);
      try {
        await rename(folder, doomed);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        throw error;
      }
      void remove(doomed);
    },
  };
}
