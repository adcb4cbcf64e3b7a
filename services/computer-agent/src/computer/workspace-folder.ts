// A folder of a workspace while programs inside may change it. Each folder on the way is opened relative to the
// previous one, by name and never through a link, so no path leads out of the workspace.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { invalidParam, ServiceError } from '@switchyard/contracts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
export const FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

/** @throws ServiceError `computer_failed` */
function openWorkspaceFolder(workspace: string): Promise<FileHandle> {
  // The workspace itself is the agent's and no link; O_NOFOLLOW enforces that.
  return open(workspace, FOLDER_FLAGS).catch((cause: unknown) => {
    throw new ServiceError('computer_failed', 'its files are no longer on the host', { cause });
  });
}

/**
 * Opens one folder after the other with `enter`, and closes all but the last.
 * @throws what `enter` throws
 */
export async function walk(
  workspace: string,
  names: readonly string[],
  enter: (folder: FileHandle, name: string) => Promise<FileHandle>,
): Promise<FileHandle> {
  let folder = await openWorkspaceFolder(workspace);
  try {
    for (const name of names) {
      const next = await enter(folder, name);
      await folder.close();
      folder = next;
    }
    return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** @throws ServiceError `path_not_found`; `invalid_request` for a link or anything but a folder */
export function enterFolder(folder: FileHandle, name: string): Promise<FileHandle> {
  return open(within(folder, name), FOLDER_FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw notThere(error);
    if (error.code === 'ELOOP' || error.code === 'ENOTDIR')
      throw invalidParam('path', `${name} in it is not a folder: links are not followed`, error);
    throw error;
  });
}

/**
 * Path through /proc for openat, mkdirat and renameat, which Node.js lacks.
 * @throws as `requireOpen`
 */
export function within(folder: FileHandle, name: string): string {
  requireOpen(folder);
  return `/proc/self/fd/${folder.fd}/${name}`;
}

/** @throws ServiceError `computer_failed` if the folder was closed because its computer ended */
export function requireOpen(folder: FileHandle): void {
  if (folder.fd < 0)
    throw new ServiceError('computer_failed', 'the computer ended while its folder was read');
}

export function notThere(cause: unknown): ServiceError {
  return new ServiceError('path_not_found', 'there is no file or folder at this path', {
    param: 'path',
    cause,
  });
}
