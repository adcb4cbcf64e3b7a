// The /workspace of every computer, which outlives its containers: a separate disk if this host can mount one
// (disks.ts), otherwise a directory under the agent's data directory. A computer keeps the kind it was created with.
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteCondition } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { Disks } from './disks.ts';
import { nullWhenMissing } from './missing.ts';
import { placeFile } from './place-file.ts';
import { openStaging, type Staging } from './staging.ts';
import { openTrash, type Trash } from './trash.ts';
import type { WorkspacePath } from './workspace-path.ts';

/** Ids become directory names, so the pattern allows no other characters. */
const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

interface WorkspacesDeps {
  readonly disks?: Disks;
  /** Whether new workspaces get a disk. */
  readonly useDisks?: () => boolean;
}

/** Keeps workspaces under `directory`, created with mode 0700 so that other users of this host cannot read them. */
export async function openWorkspaces(
  directory: string,
  { logger, ...deps }: WorkspacesDeps & { readonly logger: Logger },
): Promise<Workspaces> {
  await mkdir(join(directory, 'files'), { recursive: true, mode: 0o700 });
  const trash = await openTrash(join(directory, 'trash'), { logger });
  return new Workspaces(directory, await openStaging(join(directory, 'incoming')), trash, deps);
}

export class Workspaces {
  readonly #directory: string;
  readonly #disks: Disks | undefined;
  readonly #useDisks: () => boolean;
  /** For uploads into folders. */
  readonly #staging: Staging;
  readonly #trash: Trash;
  /** Staging folders on disks. Opening one removes what a dead agent left in it. */
  readonly #stagings = new Map<string, Promise<Staging>>();

  constructor(
    directory: string,
    staging: Staging,
    trash: Trash,
    { disks, useDisks = () => false }: WorkspacesDeps,
  ) {
    this.#directory = directory;
    this.#staging = staging;
    this.#trash = trash;
    this.#disks = disks;
    this.#useDisks = useDisks;
  }

  /** Path of a computer's /workspace on this host. */
  path(computerId: string): string {
    return this.#diskOf(computerId)?.files(computerId) ?? this.#folderOf(computerId);
  }

  /**
   * Creates the workspace if it does not exist. `diskGb` (default: the host's) applies to disks. @throws as
   * `useDisks`
   */
  async create(computerId: string, diskGb?: number): Promise<void> {
    const folder = this.#folderOf(computerId);
    const getsDisk =
      this.#diskOf(computerId) !== undefined ||
      (diskGb !== 0 && !(await isFolder(folder)) && this.#useDisks());
    if (this.#disks && getsDisk) await this.#disks.create(computerId, diskGb);
    else await mkdir(folder, { recursive: true, mode: 0o755 });
  }

  /**
   * Mounts the disk, and removes a dead agent's uploads from it. Call it before each use of the path or the
   * staging folder, except right after `create`.
   */
  async open(computerId: string): Promise<void> {
    const disk = this.#diskOf(computerId);
    if (!disk) return;
    await disk.mount(computerId);
    await this.staging(computerId);
  }

  /** The disk is not needed for now. */
  close(computerId: string): void {
    this.#stagings.delete(computerId);
    this.#diskOf(computerId)?.unmountLater(computerId);
  }

  async exists(computerId: string): Promise<boolean> {
    return this.#diskOf(computerId)?.exists(computerId) ?? isFolder(this.#folderOf(computerId));
  }

  /** Deletes the workspace and its files. Does nothing if it does not exist. */
  async delete(computerId: string): Promise<void> {
    this.#stagings.delete(computerId);
    await this.#disks?.delete(computerId);
    await this.#trash.take(this.#folderOf(computerId));
  }

  /** The folder for incomplete uploads, on the same file system as the workspace, which must be open. */
  async staging(computerId: string): Promise<Staging> {
    const disk = this.#diskOf(computerId);
    if (!disk) return this.#staging;
    const known = this.#stagings.get(computerId);
    if (known) return known;
    const opened = openStaging(disk.incoming(computerId));
    this.#stagings.set(computerId, opened);
    opened.catch(() => this.#stagings.delete(computerId)); // the next caller tries again
    return opened;
  }

  /** Moves a staged file into a workspace and creates missing folders. Throws as `placeFile`. */
  place(computerId: string, staged: string, path: WorkspacePath, condition?: WriteCondition): Promise<void> {
    return placeFile(this.path(computerId), staged, path, condition);
  }

  /** The disks, if the computer has one of them. */
  #diskOf(computerId: string): Disks | undefined {
    return this.#disks?.has(computerId) ? this.#disks : undefined;
  }

  #folderOf(computerId: string): string {
    if (!ID_PATTERN.test(computerId)) throw new TypeError(`not the id of a computer: ${computerId}`);
    return join(this.#directory, 'files', computerId);
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(nullWhenMissing);
  return found?.isDirectory() ?? false;
}
