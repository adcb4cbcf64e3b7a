// Folders of deleted computers, removed one at a time by a program of bounded memory: a computer decides how many files
// it has, and how deep they are nested. The next agent removes what a dead one left.
import { mkdir, mkdtemp, opendir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Lock, type Logger } from '@switchyard/service';
import { runProgram } from '../docker/host-programs.ts';

/** Address space of `rm`, which keeps almost 1 KB for each level of folders. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024;

interface TrashDeps {
  readonly logger: Pick<Logger, 'warn'>;
  /** Address space of `rm`. */
  readonly memoryBytesMax?: number;
}

export type Trash = Awaited<ReturnType<typeof openTrash>>;

export async function openTrash(directory: string, { logger, memoryBytesMax = MEMORY_BYTES_MAX }: TrashDeps) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const removals = new Lock();
  const remove = (tree: string) =>
    removals
      .run(() => removeTree(tree, memoryBytesMax))
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

async function removeTree(tree: string, memoryBytesMax: number): Promise<void> {
  const limit = `--as=${memoryBytesMax}`;
  try {
    await runProgram('prlimit', [limit, 'rm', '-rf', '--one-file-system', '--', tree]);
  } catch {
    await removeFlat(tree); // handles nesting too deep for the memory of `rm`
  }
}

/** Takes the same memory for any depth, and no long path, as each folder is moved to the top first. Slower than `rm`. */
async function removeFlat(tree: string): Promise<void> {
  const top = await mkdtemp(`${tree}.`);
  let last = 0;
  await rename(tree, join(top, String(last)));
  for (let at = 0; at <= last; at += 1) {
    const folder = join(top, String(at));
    // A name is bytes, which need not be UTF-8.
    for await (const entry of await opendir(folder, { encoding: 'latin1' })) {
      const path = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(entry.name, 'latin1')]);
      if (entry.isDirectory()) await rename(path, join(top, String(++last)));
      else await unlink(path);
    }
    await rmdir(folder);
  }
  await rmdir(top);
}
