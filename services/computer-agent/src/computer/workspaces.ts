// The /workspace of every computer, which outlives its containers: a disk of its own where this host can mount one
// (disks.ts), else a directory under the agent's data directory. What a computer has got it keeps.
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../docker/host-programs.ts';
import type { Disks } from './disks.ts';
import { placeFile } from './place-file.ts';
import { openStaging, type Staging } from './staging.ts';
import type { WorkspacePath } from './workspace-path.ts';

/** Ids become directory names: nothing else may pass. */
const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

export interface Workspaces {
  /** The directory of a computer's /workspace on this host. */
  path(computerId: string): string;
  /** Makes it if it is not there, with room for `diskGb` (the host's default) where it gets a disk. @throws as `useDisks` */
  create(computerId: string, diskGb?: number): Promise<void>;
  /** Mounts its disk: before each use of its path or its staging, but for what was just made. */
  open(computerId: string): Promise<void>;
  /** Its disk is not needed for now. */
  close(computerId: string): Promise<void>;
  exists(computerId: string): Promise<boolean>;
  /** Deletes it with all its files, for good. Nothing happens if it is gone already. */
  delete(computerId: string): Promise<void>;
  /** Where files for an open workspace wait until they are whole; on its file system. */
  staging(computerId: string): Promise<Staging>;
  /** Moves a staged file into a workspace, making the folders on its way. Throws as `placeFile`. */
  place(computerId: string, staged: string, path: WorkspacePath): Promise<void>;
}

export interface WorkspacesOptions {
  readonly disks?: Disks;
  /** Whether new workspaces get one. */
  readonly useDisks?: () => boolean;
}

/** Keeps workspaces under `directory`, which is made with mode 0700: their files are nobody else's on this host. */
export async function openWorkspaces(
  directory: string,
  { disks, useDisks }: WorkspacesOptions = {},
): Promise<Workspaces> {
  const files = join(directory, 'files');
  const trash = join(directory, 'trash');
  await mkdir(files, { recursive: true, mode: 0o700 });
  await mkdir(trash, { recursive: true, mode: 0o700 });
  const staging = await openStaging(join(directory, 'incoming'));
  /** Those of disks, from the first use on: what a dead agent left in one goes then. */
  const stagings = new Map<string, Promise<Staging>>();
  // What an earlier agent had begun to delete; nobody waits for it.
  for (const name of await readdir(trash)) void removeTree(join(trash, name)).catch(() => {});

  const directoryOf = (computerId: string): string => {
    if (!ID_PATTERN.test(computerId)) throw new TypeError(`not the id of a computer: ${computerId}`);
    return join(files, computerId);
  };
  const hasDirectory = (computerId: string) =>
    stat(directoryOf(computerId)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  const path = (computerId: string) =>
    disks?.has(computerId) ? disks.files(computerId) : directoryOf(computerId);
  return {
    path,
    async staging(computerId) {
      if (!disks?.has(computerId)) return staging;
      const opened = stagings.get(computerId) ?? openStaging(disks.incoming(computerId));
      stagings.set(computerId, opened);
      return opened;
    },
    place: (computerId, staged, to) => placeFile(path(computerId), staged, to),
    async create(computerId, diskGb) {
      const directory = directoryOf(computerId);
      const isNew = async () => diskGb !== 0 && !(await hasDirectory(computerId));
      const getsDisk = disks?.has(computerId) || ((await isNew()) && useDisks?.());
      if (disks && getsDisk) await disks.create(computerId, diskGb);
      else await mkdir(directory, { recursive: true, mode: 0o755 });
    },
    async open(computerId) {
      if (disks?.has(computerId)) await disks.mount(computerId);
    },
    async close(computerId) {
      stagings.delete(computerId);
      if (disks?.has(computerId)) await disks.unmount(computerId);
    },
    exists: (computerId) => (disks?.has(computerId) ? disks.exists(computerId) : hasDirectory(computerId)),
    async delete(computerId) {
      stagings.delete(computerId);
      await disks?.delete(computerId);
      // Renamed first: a deletion that a crash cuts short can never leave half a workspace under its id.
      const doomed = join(trash, `${computerId}.${process.hrtime.bigint()}`);
      try {
        await rename(directoryOf(computerId), doomed);
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
  await runProgram('rm', ['-rf', '--one-file-system', '--', path]);
}
