// Removes a file or folder from a workspace. Follows no link; a link itself is removed, never its target.
import { type FileHandle, lstat, rmdir, unlink } from 'node:fs/promises';
import { invalidParam, ServiceError } from '@switchyard/contracts';
import { ProgramFailure, runProgram, SIGKILL_CODE } from '../docker/host-programs.ts';
import { enterFolder, notThere, walk, within } from './workspace-folder.ts';

/** Address space of `rm`, which keeps almost 1 KB for each level of folders. */
export const RM_MEMORY_BYTES_MAX = 128 * 1024 * 1024;
const RM_MS_MAX = 600_000;
/**
 * Enters the folder and checks that it is the one: its descriptor may have been closed, and its number may be that of
 * another computer's folder. Passes on the end of the messages only: they name paths, whose number and length a
 * computer decides.
 */
const RM_SCRIPT = `folder=$1; identity=$2; name=$3; memory=$4
cd "$folder" && [ "$(stat --format=%d:%i .)" = "$identity" ] || exit
prlimit --as="$memory" rm -rf --one-file-system -- "$name" 2>&1 | tail -c 1000; exit "\${PIPESTATUS[0]}"`;

export interface RemoveOptions {
  /** Removes a folder with its contents. */
  readonly recursive: boolean;
  /** Aborting it ends the removal of a folder midway. */
  readonly signal?: AbortSignal;
  /** Of the program that removes a folder. */
  readonly memoryBytesMax?: number;
}

/**
 * @param names path from the workspace; at least one name
 * @throws ServiceError `path_not_found`; `invalid_request`, param `path`; `computer_failed`; the reason of `signal`
 */
export async function removeEntry(
  workspace: string,
  names: readonly string[],
  options: RemoveOptions,
): Promise<void> {
  const name = names.at(-1);
  if (name === undefined) throw invalidParam('path', '/workspace itself cannot be deleted');
  const folder = await walk(workspace, names.slice(0, -1), enterFolder);
  try {
    await removeFrom(folder, name, options);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw notThere(error);
    throw error;
  } finally {
    await folder.close();
  }
}

async function removeFrom(folder: FileHandle, name: string, options: RemoveOptions): Promise<void> {
  const path = within(folder, name);
  if (!(await lstat(path)).isDirectory()) return unlink(path);
  if (options.recursive) return removeTree(folder, name, options);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY') throw error;
    throw invalidParam('path', `${name} is a folder that is not empty: it goes with recursive=true`, error);
  });
}

/** The program rm descends one directory at a time from the open folder and follows no link. */
async function removeTree(
  folder: FileHandle,
  name: string,
  { signal, memoryBytesMax = RM_MEMORY_BYTES_MAX }: RemoveOptions,
): Promise<void> {
  const path = `/proc/${process.pid}/fd/${folder.fd}`;
  const { dev, ino } = await folder.stat({ bigint: true });
  try {
    const args = [path, `${dev}:${ino}`, name, String(memoryBytesMax)];
    await runProgram('bash', ['-c', RM_SCRIPT, 'bash', ...args], { timeout: RM_MS_MAX, signal });
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error;
    if (/(memory exhausted|Cannot allocate memory)$/m.test(error.message))
      throw invalidParam('path', 'the folder is nested too deep: remove it inside the computer', error);
    const [lastLine] = /rm: [^\n]*$/.exec(error.message) ?? [];
    if (error.code !== SIGKILL_CODE && lastLine === undefined) throw error;
    const why =
      lastLine === undefined
        ? 'The folder was not removed in 10 minutes. Remove the rest.'
        : `Part of the folder was not removed; it may have changed meanwhile. ${lastLine}`;
    throw new ServiceError('computer_failed', why, { cause: error });
  }
}
