// Address and key: from the environment, else from the file that `switchyard login` writes.
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Switchyard, type SwitchyardOptions } from '@switchyard/client';

const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

export interface Settings {
  url?: string;
  key?: string;
}

export function settingsFile(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'switchyard', 'config.json');
}

/** Replaces the file by one that only its owner can read; an overwritten file would keep its mode. */
export async function saveSettings(settings: Settings): Promise<void> {
  const file = settingsFile();
  await mkdir(dirname(file), { recursive: true, mode: OWNER_ONLY_FOLDER });
  const replacement = `${file}.${randomUUID()}`;
  await writeFile(replacement, `${JSON.stringify(settings, null, 2)}\n`, { mode: OWNER_ONLY });
  await rename(replacement, file);
}

/** Returns a client with the saved login. The file belongs to one installation: its key goes to that address only. */
export async function connect(): Promise<Switchyard> {
  const { SWITCHYARD_URL } = process.env;
  const ownKey = process.env.SWITCHYARD_KEY?.trim(); // a secret from a file may end in a newline
  // A container may not be able to read the file, nor need it.
  const saved: Settings = SWITCHYARD_URL && ownKey ? {} : await savedSettings();
  const url = SWITCHYARD_URL?.replace(/\/+$/, '') || saved.url; // saved without the slashes
  const apiKey = ownKey || (url === saved.url ? saved.key : undefined);
  if (!apiKey)
    throw new Error('Not logged in. Run `switchyard login`, or set SWITCHYARD_URL and SWITCHYARD_KEY.');
  return clientOf({ url, apiKey });
}

/** A client whose errors name the address that did not answer: the environment, the file or the default may give it. */
export function clientOf(options: SwitchyardOptions): Switchyard {
  if (!/^[\x21-\x7e\xa1-\xff]*$/.test(options.apiKey ?? ''))
    throw new Error('This is not an API key: it has characters that no key has. Copy the whole key again.');
  const sy = new Switchyard(options);
  const silent = `No answer from ${sy.url}: check that it runs, SWITCHYARD_URL, and \`switchyard login\``;
  sy.api.use({
    // A TypeError with a cause, as that of `fetch`: it may be temporary.
    onError: ({ error }) =>
      error instanceof TypeError && error.cause ? new TypeError(silent, { cause: error.cause }) : undefined,
  });
  return sy;
}

async function savedSettings(): Promise<Settings> {
  try {
    return JSON.parse(await readFile(settingsFile(), 'utf8')) as Settings;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${settingsFile()} cannot be read. Run \`switchyard login\`.`, { cause: error });
  }
}
