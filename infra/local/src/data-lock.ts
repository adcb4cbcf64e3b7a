/** Allows one launcher per data folder, because two would run two databases on the same files. */
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIdentity } from './process-identity.ts';
import { SetupError } from './setup-error.ts';

export interface DataLock {
  release(): Promise<void>;
}

const TRIES_MAX = 5;

/** @throws SetupError if a running launcher holds the folder */
export async function lockDataFolder(folder: string): Promise<DataLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = join(folder, 'lock');
  const mine = join(folder, `lock.${process.pid}`);
  await writeFile(mine, `${process.pid} ${await processIdentity(process.pid)}\n`);
  try {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      // Creating a link is atomic; creating a file and filling it is not.
      if (await linked(mine, lock)) return { release: () => rm(lock, { force: true }) };
      const holder = await readHolder(lock);
      if (holder !== undefined && (await processIdentity(holder.pid)) === holder.identity) {
        throw new SetupError(
          `Another Switchyard (process ${holder.pid}) uses the data folder ${folder}.`,
          `Stop it (kill ${holder.pid}), or choose another folder: SWITCHYARD_DATA=<folder>.`,
        );
      }
      await rm(lock, { force: true });
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new SetupError(`Could not lock the data folder ${folder}.`, `Remove ${lock} and start again.`);
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readHolder(lock: string): Promise<{ pid: number; identity: string } | undefined> {
  const words = (await readFile(lock, 'utf8').catch(() => '')).trim();
  const [, pid, identity] = words.match(/^(\d+) (.+)$/) ?? [];
  return pid && identity ? { pid: Number(pid), identity } : undefined;
}
