// Removes a file or an empty folder from a workspace. Follows no link; a link itself is removed, never its target.
import { lstat, rmdir, unlink } from 'node:fs/promises';
import { invalidParam } from '@switchyard/contracts';
import { enterFolder, notThere, walk, within } from './workspace-folder.ts';

/**
 * @param names path from the workspace; at least one name
 * @returns false for a folder that is not empty, which is left as it is
 * @throws ServiceError `path_not_found`; `invalid_request`, param `path`
 */
export async function removeEntry(workspace: string, names: readonly string[]): Promise<boolean> {
  const name = names.at(-1);
  if (name === undefined) throw invalidParam('path', '/workspace itself cannot be deleted');
  const folder = await walk(workspace, names.slice(0, -1), enterFolder);
  const path = within(folder, name);
  try {
    if ((await lstat(path)).isDirectory()) await rmdir(path);
    else await unlink(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY') return false;
    if (code === 'ENOENT') throw notThere(error);
    throw error;
  } finally {
    await folder.close();
  }
}
