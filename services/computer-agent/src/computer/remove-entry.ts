// Removes a file or folder from a workspace. Follows no link; a link itself is removed, never its target.
import { execFile } from 'node:child_process';
import { type FileHandle, lstat, rmdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { enterFolder, notThere, refuse, walk, within } from './workspace-folder.ts';

const run = promisify(execFile);

interface RemoveOptions {
  /** Removes a folder with its contents. */
  readonly recursive: boolean;
}

/**
 * @param names path from the workspace; at least one name
 * @throws ServiceError `path_not_found`; `invalid_request`, param `path` or `recursive`
 */
export async function removeEntry(
  workspace: string,
  names: readonly string[],
  options: RemoveOptions,
): Promise<void> {
  const name = names.at(-1);
  if (name === undefined) throw refuse('/workspace itself cannot be deleted');
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

async function removeFrom(folder: FileHandle, name: string, { recursive }: RemoveOptions): Promise<void> {
  const path = within(folder, name);
  if (!(await lstat(path)).isDirectory()) return unlink(path);
  // The program rm descends one directory at a time from the open folder and follows no link.
  if (recursive) {
    await run('rm', ['-rf', '--one-file-system', '--', `./${name}`], {
      cwd: `/proc/${process.pid}/fd/${folder.fd}`,
    });
    return;
  }
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY') throw error;
    throw refuse(`${name} is a folder that is not empty: it goes with recursive=true`, error);
  });
}
