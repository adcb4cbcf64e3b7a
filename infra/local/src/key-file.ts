/**
 * Secrets of an installation that are made once and kept in its data folder, readable by their owner only: its first key,
 * and what encrypts the keys of providers.
 */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { PROVIDERS_SECRET_LENGTH_MIN } from '@switchyard/contracts';
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
export function readOrMakeKey(folder: string): Promise<InstallationKey> {
  return readOrMake(join(folder, 'key'), {
    charsMin: KEY_CHARS_MIN,
    make: () => `sy_${randomBytes(KEY_BYTES).toString('base64url')}`,
    fix: (file) => `Remove ${file}; the next start makes a new key.`,
  });
}

/** Reads SWITCHYARD_PROVIDERS_SECRET of a data folder, or makes one. */
export async function readOrMakeProvidersSecret(folder: string): Promise<string> {
  const { key } = await readOrMake(join(folder, 'providers-secret'), {
    charsMin: PROVIDERS_SECRET_LENGTH_MIN,
    make: newProvidersSecret,
    fix: (file) => `Restore ${file} from a backup. Without it, set the keys of providers again.`,
  });
  return key;
}

export function newProvidersSecret(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

interface Kind {
  readonly charsMin: number;
  make(): string;
  /** What to do about a file without one. */
  fix(file: string): string;
}

async function readOrMake(file: string, { charsMin, make, fix }: Kind): Promise<InstallationKey> {
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept !== undefined) {
    const key = kept.trim();
    if (key.length >= charsMin) return { key, made: false, file };
    throw new SetupError(`${file} does not contain a key.`, fix(file));
  }
  const key = make();
  const unfinished = await open(`${file}.new`, 'w', 0o600);
  await unfinished.writeFile(`${key}\n`);
  await unfinished.sync();
  await unfinished.close();
  await rename(`${file}.new`, file);
  return { key, made: true, file };
}
