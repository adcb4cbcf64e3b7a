/** Secrets of an installation: made once, and kept in files that only their owner can read. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { KEY_LENGTH_MIN, PROVIDERS_SECRET_LENGTH_MIN } from '@switchyard/contracts';
import { SetupError } from './setup-error.ts';

interface InstallationKey {
  readonly key: string;
  /** Whether this call made it. Only then is it printed. */
  readonly made: boolean;
  readonly file: string;
}

const SECRET_BYTES = 32;

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Reads the key of a data folder, or makes one. It is on the disk before it is returned. */
export async function readOrMakeKey(folder: string): Promise<InstallationKey> {
  const file = join(folder, 'key');
  const kept = await readSecret(file, KEY_LENGTH_MIN, `Remove ${file}; the next start makes a new key.`);
  if (kept !== undefined) return { key: kept, made: false, file };
  const key = `sy_${newSecret()}`;
  await writePrivately(file, `${key}\n`);
  return { key, made: true, file };
}

/** Reads SWITCHYARD_PROVIDERS_SECRET of a data folder, or makes one. */
export async function readOrMakeProvidersSecret(folder: string): Promise<string> {
  const file = join(folder, 'providers-secret');
  const fix = `Restore ${file} from a backup. Without it, set the keys of providers again.`;
  const kept = await readSecret(file, PROVIDERS_SECRET_LENGTH_MIN, fix);
  if (kept !== undefined) return kept;
  const secret = newSecret();
  await writePrivately(file, `${secret}\n`);
  return secret;
}

/** @throws SetupError for a file with fewer characters: a secret is not replaced in silence */
async function readSecret(file: string, charsMin: number, fix: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  const secret = (await readFile(file, 'utf8')).trim();
  if (secret.length >= charsMin) return secret;
  throw new SetupError(`${file} does not contain a key.`, fix);
}

/**
 * Makes the secrets of docker-compose.yml, unless they exist: MongoDB takes a password only for a new volume, and
 * stored keys of providers can be decrypted only with the same secret.
 */
export async function ensureComposeSecrets(folder: string): Promise<void> {
  const password = newSecret();
  await ensureFile(join(folder, 'mongo.env'), [
    'MONGO_INITDB_ROOT_USERNAME=switchyard',
    `MONGO_INITDB_ROOT_PASSWORD=${password}`,
    `MONGODB_PASSWORD=${password}`,
  ]);
  await ensureFile(join(folder, 'providers.env'), [`SWITCHYARD_PROVIDERS_SECRET=${newSecret()}`]);
}

async function ensureFile(file: string, lines: readonly string[]): Promise<void> {
  if (!existsSync(file)) await writePrivately(file, `${lines.join('\n')}\n`);
}

/** Writes a file in one step, readable by its owner only. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = await open(`${file}.new`, 'w', 0o600);
  await unfinished.writeFile(text);
  await unfinished.sync();
  await unfinished.close();
  await rename(`${file}.new`, file);
}
