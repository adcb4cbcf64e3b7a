// Opens a file or folder of a workspace for reading. Follows no link and opens only files and folders. The checked
// entry is the one that is read, even if a program inside replaces it.
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import {
  FOLDER_ENTRIES_MAX,
  invalidParam,
  ServiceError,
  type WorkspaceEntry,
  type WorkspaceFolder,
} from '@switchyard/contracts';
import { nullWhenMissing } from './missing.ts';
import { enterFolder, notThere, requireOpen, walk, within } from './workspace-folder.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Linux: a descriptor that names a file without opening it, so pipes do not block and devices are not touched. */
const O_PATH = 0o10000000;
const PIECE_BYTES = 128 * 1024;
/** Entries of a folder that are examined in parallel. */
const LOOKS_AT_ONCE = 32;

export interface OpenFile {
  readonly kind: 'file';
  readonly handle: FileHandle;
  readonly name: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
  /** Changes when the file changes. */
  readonly etag: string;
}

interface OpenFolder {
  readonly kind: 'folder';
  readonly handle: FileHandle;
}

export type OpenEntry = OpenFile | OpenFolder;

/**
 * @param workspace the folder on this host
 * @param names path from there; empty: the workspace itself
 * @throws ServiceError `path_not_found`; `invalid_request`, param `path`, for a link or anything but a file or folder
 */
export async function openEntry(workspace: string, names: readonly string[]): Promise<OpenEntry> {
  const folder = await walk(workspace, names.slice(0, -1), enterFolder);
  const name = names.at(-1);
  if (name === undefined) return { kind: 'folder', handle: folder };
  try {
    return await openIn(folder, name);
  } finally {
    await folder.close();
  }
}

async function openIn(folder: FileHandle, name: string): Promise<OpenEntry> {
  const found = await open(within(folder, name), O_PATH | O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw notThere(error);
      throw error;
    },
  );
  try {
    const stat = await found.stat({ bigint: true });
    if (stat.isSymbolicLink()) throw invalidParam('path', `${name} is a link: links are not followed`);
    if (!stat.isFile() && !stat.isDirectory())
      throw invalidParam('path', `${name} is neither a file nor a folder`);
    // Opening through the descriptor guarantees that this is the entry that was checked.
    const handle = await open(`/proc/self/fd/${found.fd}`, O_RDONLY | O_NONBLOCK).catch(
      (error: NodeJS.ErrnoException) => {
        // Waiting for a lease would block one of this process's few I/O threads for 45 s.
        if (error.code === 'EAGAIN')
          throw invalidParam('path', `${name} is leased by a program in the computer`, error);
        throw error;
      },
    );
    if (stat.isDirectory()) return { kind: 'folder', handle };
    return {
      kind: 'file',
      handle,
      name,
      bytes: Number(stat.size),
      modifiedAt: stat.mtime,
      etag: etagOf(stat),
    };
  } finally {
    await found.close();
  }
}

export function etagOf({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${ino.toString(36)}-${size.toString(36)}-${mtimeNs.toString(36)}"`;
}

/**
 * The bytes from `start` up to, and not including, `end`.
 * @throws ServiceError `computer_failed` if the file was shortened meanwhile, so that a part never passes for the
 * whole
 */
export async function* readBytes(
  { handle }: OpenFile,
  start: number,
  end: number,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = start; at < end; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0)
      throw new ServiceError('computer_failed', 'the file became shorter while it was read');
    yield piece.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/**
 * Entries of a folder, sorted by name. A very large folder is listed in part.
 * @throws ServiceError `computer_failed` if the folder is closed meanwhile, so that a part never passes for the whole
 */
export async function listFolder({ handle }: OpenFolder): Promise<Omit<WorkspaceFolder, 'object' | 'path'>> {
  const { names, hasMore } = await namesIn(handle);
  const entries: WorkspaceEntry[] = [];
  for (let at = 0; at < names.length; at += LOOKS_AT_ONCE) {
    const looked = names.slice(at, at + LOOKS_AT_ONCE).map((name) => look(handle, name));
    entries.push(...(await Promise.all(looked)).filter((entry) => entry !== null));
  }
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { entries, has_more: hasMore };
}

/** As bytes, because a name need not be valid UTF-8. */
async function namesIn(handle: FileHandle): Promise<{ names: Buffer[]; hasMore: boolean }> {
  const names: Buffer[] = [];
  // The return type does not reflect the encoding option.
  const folder = await opendir(within(handle, '.'), { encoding: 'buffer' as BufferEncoding });
  for await (const { name } of folder) {
    if (names.length === FOLDER_ENTRIES_MAX) return { names, hasMore: true };
    names.push(name as unknown as Buffer);
  }
  return { names, hasMore: false };
}

/** null: the entry was removed meanwhile. */
async function look(folder: FileHandle, name: Buffer): Promise<WorkspaceEntry | null> {
  const path = Buffer.concat([Buffer.from(within(folder, '')), name]);
  const stat = await lstat(path).catch(nullWhenMissing);
  requireOpen(folder); // otherwise the entry looks removed, or another folder has the number of the descriptor
  if (!stat) return null;
  return {
    name: name.toString('utf8'),
    type: stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other',
    bytes: stat.size,
    modified_at: stat.mtime.toISOString(),
  };
}
