// Moves a complete file into a workspace while programs inside may change it. Each folder on the way is opened
// relative to the previous one, by name and never through a link, so the file cannot land elsewhere.
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises';
import { invalidParam, namesTag, ServiceError, type WriteCondition } from '@switchyard/contracts';
import { nullWhenMissing } from './missing.ts';
import { etagOf } from './open-entry.ts';
import { orNoRoom } from './staging.ts';
import { FOLDER_FLAGS, walk, within } from './workspace-folder.ts';
import type { WorkspacePath } from './workspace-path.ts';

const { O_NOFOLLOW, O_RDONLY } = constants;
/** The folder is a link, is not a folder, or was removed from inside after it was made. */
const NO_FOLDER: readonly string[] = ['ELOOP', 'ENOTDIR', 'ENOENT'];
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
/** A mode without setuid, setgid and the file's type. */
const PERMISSION_BITS = 0o777;

/**
 * @param workspace the folder on this host; `staged` lies on the same file system
 * @throws ServiceError `invalid_request`, param `path`, when part of the path is not a folder, or the target is a
 * folder; `precondition_failed`; `computer_failed` when the disk is full
 */
export async function placeFile(
  workspace: string,
  staged: string,
  path: WorkspacePath,
  condition?: WriteCondition,
): Promise<void> {
  await place(workspace, staged, path, condition).catch((error: unknown) => {
    throw orNoRoom(error);
  });
}

async function place(
  workspace: string,
  staged: string,
  path: WorkspacePath,
  condition?: WriteCondition,
): Promise<void> {
  let owner: Owner | null = null;
  const folder = await walk(workspace, path.folders, async (from, name) => {
    owner ??= await from.stat(); // owner of the workspace
    return enter(from, name, owner);
  });
  try {
    owner ??= await folder.stat();
    const entry = await entryOf(folder, path.name);
    if (condition) requireCondition(condition, entry && etagOf(entry));
    await give(staged, entry?.isFile() ? attributesOf(entry) : { ...owner, mode: FILE_MODE });
    await moveInto(folder, path.name, staged);
  } finally {
    await folder.close();
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Opens the folder of this name in `folder`; creates it if missing. */
async function enter(folder: FileHandle, name: string, owner: Owner): Promise<FileHandle> {
  const path = within(folder, name);
  const made = await mkdir(path, FOLDER_MODE).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  const entered = await open(path, FOLDER_FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== undefined && NO_FOLDER.includes(error.code))
      throw invalidParam(
        'path',
        `${name} in it is not, or no longer, a folder: links are not followed`,
        error,
      );
    throw error;
  });
  if (!made) return entered;
  await entered.chown(owner.uid, owner.gid);
  await entered.chmod(FOLDER_MODE); // regardless of the umask
  return entered;
}

interface Attributes extends Owner {
  readonly mode: number;
}

/** The entry that has this name; null if there is none. */
function entryOf(folder: FileHandle, name: string): Promise<BigIntStats | null> {
  return lstat(within(folder, name), { bigint: true }).catch(nullWhenMissing);
}

/** A program inside may still change the file between this check and its replacement. */
function requireCondition({ if_match, if_none_match }: WriteCondition, tag: string | null): void {
  const isMet =
    (if_match === null || namesTag(if_match, tag)) &&
    (if_none_match === null || !namesTag(if_none_match, tag));
  if (!isMet)
    throw new ServiceError(
      'precondition_failed',
      'The file does not meet If-Match or If-None-Match. Read it again.',
    );
}

/** What a replaced file passes on. */
function attributesOf({ uid, gid, mode }: BigIntStats): Attributes {
  return { uid: Number(uid), gid: Number(gid), mode: Number(mode) & PERMISSION_BITS };
}

async function give(staged: string, { uid, gid, mode }: Attributes): Promise<void> {
  const file = await open(staged, O_RDONLY | O_NOFOLLOW);
  try {
    await file.chown(uid, gid);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** Replaces the entry of this name: a file, or a link itself and not its target. */
async function moveInto(folder: FileHandle, name: string, staged: string): Promise<void> {
  const path = within(folder, name);
  try {
    await rename(staged, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw invalidParam('path', 'its folder was removed meanwhile', error);
    if (code !== 'EISDIR') throw error;
    throw invalidParam('path', `${name} is a folder; end the path with a slash to write into it`, error);
  }
}
