/**
 * Keeps built programs in a folder of the user, so that a second clone on the same machine does not build them again.
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
 * Makes `folder` once. `make` fills a temporary folder, which is then renamed in one step. An existing folder is
 * therefore complete, even if several processes build at once or one of them is killed.
 */
export async function makeOnce(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  const unfinished = `${folder}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(unfinished);
  try {
    await make(unfinished);
    await rename(unfinished, folder).catch((error: unknown) => {
      // Another process finished first; its folder is the same.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
