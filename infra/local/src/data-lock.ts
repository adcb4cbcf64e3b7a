/** Allows one launcher per data folder, because two would run two databases on the same files. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SetupError } from './setup-error.ts';

export interface DataLock {
  release(): void;
}

const SQLITE_BUSY = 5;

/**
 * The lock is SQLite's on an empty database: Node itself locks no files, and the kernel releases this lock
 * however the process ends.
 * @throws SetupError if a running launcher holds the folder
 */
export async function lockDataFolder(folder: string): Promise<DataLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, 'lock'));
  const holder = join(folder, 'lock.pid');
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    const pid = await readFile(holder, 'utf8').catch(() => '?');
    throw new SetupError(
      `Another Switchyard (process ${pid}) uses the data folder ${folder}.`,
      `Stop it (kill ${pid}), or choose another folder: SWITCHYARD_DATA=<folder>.`,
      { cause: error },
    );
  }
  await writeFile(holder, String(process.pid));
  return { release: () => database.close() };
}
