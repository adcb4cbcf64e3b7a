/** The first key of an installation: made once and kept in `<data>/key`, readable by its owner only. */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { SetupError } from './setup-error.ts';

interface InstallationKey {
  readonly key: string;
  /** Whether this call made it. Only then is it printed. */
  readonly made: boolean;
  readonly file: string;
}

const KEY_BYTES = 32;
const KEY_CHARS_MIN = 20;

/** Reads the key of a data folder, or makes one. It is on the disk before it is returned. */
export async function readOrMakeKey(folder: string): Promise<InstallationKey> {
  const file = join(folder, 'key');
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept !== undefined) {
    const key = kept.trim();
    if (key.length >= KEY_CHARS_MIN) return { key, made: false, file };
    throw new SetupError(
      `${file} does not contain a key.`,
      `Remove ${file}; the next start makes a new key.`,
    );
  }
  const key = `sy_${randomBytes(KEY_BYTES).toString('base64url')}`;
  const unfinished = await open(`${file}.new`, 'w', 0o600);
  await unfinished.writeFile(`${key}\n`);
  await unfinished.sync();
  await unfinished.close();
  await rename(`${file}.new`, file);
  return { key, made: true, file };
}
