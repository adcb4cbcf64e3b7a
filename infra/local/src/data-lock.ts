/** Allows one launcher per data folder, because two would run two databases on the same files. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SetupError } from './setup-error.ts';

export interface DataLock {
  release(): void;
}

const SQLITE_BUSY = 5;

/**
 * The lock is SQLite's on an empty database: Node itself locks no files, and the kernel releases this lock
 * however the process ends.
 * @throws SetupError if a running launcher holds the folder, or if it cannot be written
 */
export async function lockDataFolder(folder: string): Promise<DataLock> {
  const holder = join(folder, 'lock.pid');
  let database: DatabaseSync | undefined;
  try {
    await makeFolder(folder);
    database = new DatabaseSync(join(folder, 'lock'));
    database.exec('BEGIN EXCLUSIVE');
    await writeFile(holder, String(process.pid));
  } catch (error) {
    database?.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw unusable(folder, error as Error);
    const pid = await readFile(holder, 'utf8').catch(() => '?');
    throw new SetupError(
      `Another Switchyard (process ${pid}) uses the data folder ${folder}.`,
      `Stop it (kill ${pid}), or choose another folder: SWITCHYARD_DATA=<folder>.`,
      { cause: error },
    );
  }
  const locked = database;
  return { release: () => locked.close() };
}

/** No permission, a read-only or full disk, a file of that name. */
function unusable(folder: string, cause: Error): SetupError {
  return new SetupError(
    `The data folder ${folder} cannot be used: ${cause.message}.`,
    'Make it a folder that this user may write, or choose another: SWITCHYARD_DATA=<folder>.',
    { cause },
  );
}

/** Node.js' own `recursive` never ends where the kernel refuses new names with ENOENT, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    if (code !== 'ENOENT' || (await exists(dirname(folder)))) throw error;
    await makeFolder(dirname(folder));
    await makeFolder(folder);
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
