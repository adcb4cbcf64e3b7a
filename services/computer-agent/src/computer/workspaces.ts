// The /workspace of every computer: a directory under the agent's data directory that outlives its containers.
import { execFile } from 'node:child_process';
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { placeFile } from './place-file.ts';
import { openStaging, type Staging } from './staging.ts';
import type { WorkspacePath } from './workspace-path.ts';

const run = promisify(execFile);

/** Ids become directory names: nothing else may pass. */
const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

export interface Workspaces {
  /** The directory of a computer's /workspace on this host. */
  path(computerId: string): string;
  /** Makes it if it is not there. */
  create(computerId: string): Promise<void>;
  exists(computerId: string): Promise<boolean>;
  /** Deletes it with all its files, for good. Nothing happens if it is gone already. */
  delete(computerId: string): Promise<void>;
  /** Where files wait until they are whole; on the workspaces' file system. */
  readonly staging: Staging;
  /** Moves a staged file into a workspace, making the folders on its way. Throws as `placeFile`. */
  place(computerId: string, staged: string, path: WorkspacePath): Promise<void>;
}

/** Keeps workspaces under `directory`, which is made with mode 0700: their files are nobody else's on this host. */
export async function openWorkspaces(directory: string): Promise<Workspaces> {
  const files = join(directory, 'files');
  const trash = join(directory, 'trash');
  await mkdir(files, { recursive: true, mode: 0o700 });
  await mkdir(trash, { recursive: true, mode: 0o700 });
  const staging = await openStaging(join(directory, 'incoming'));
  // What an earlier agent had begun to delete; nobody waits for it.
  for (const name of await readdir(trash)) void removeTree(join(trash, name)).catch(() => {});

  const path = (computerId: string): string => {
    if (!ID_PATTERN.test(computerId)) throw new TypeError(`not the id of a computer: ${computerId}`);
    return join(files, computerId);
  };
  return {
    path,
    staging,
    place: (computerId, staged, to) => placeFile(path(computerId), staged, to),
    async create(computerId) {
      await mkdir(path(computerId), { recursive: true, mode: 0o755 });
    },
    async exists(computerId) {
      return stat(path(computerId)).then(
        (found) => found.isDirectory(),
        () => false,
      );
    },
    async delete(computerId) {
      // Renamed first: a deletion that a crash cuts short can never leave half a workspace under its id.
      const doomed = join(trash, `${computerId}.${process.hrtime.bigint()}`);
      try {
        await rename(path(computerId), doomed);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        throw error;
      }
      await removeTree(doomed);
    },
  };
}

/**
 * By the program `rm`, which goes down step by step: a renter can nest directories so deep that no path reaches the
 * last one, where fs.rm gives up.
 */
async function removeTree(path: string): Promise<void> {
  await run('rm', ['-rf', '--one-file-system', '--', path]);
}
