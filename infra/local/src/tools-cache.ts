/**
 * Programs that had to be built are kept in one folder of the user, not of the clone: a second clone on the same
 * machine finds them there.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** `$XDG_CACHE_HOME/switchyard`, by default `~/.cache/switchyard`. */
export function toolsCacheFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'switchyard');
}

/**
 * Makes `folder` once. `make` fills a folder beside it, which then takes its name in one step, so that a folder
 * which exists is whole, however many processes build at once and whenever one of them is killed.
 */
export async function makeOnce(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  const unfinished = `${folder}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(unfinished);
  try {
    await make(unfinished);
    await rename(unfinished, folder).catch((error: unknown) => {
      // Another process was quicker: its folder is as good as ours.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
