/** The addresses of a running stack, for other programs on this machine: `npm run events`, `npm run tour`. */
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { withCredentials } from '@switchyard/bus/nats-url';
import { type LauncherConfig, ROOT } from './config.ts';
import type { StackFacts } from './service-environment.ts';

interface Addresses {
  /** With the operator's password. */
  readonly NATS_URL: string;
  readonly MONGODB_URL: string;
  readonly SWITCHYARD_URL: string;
}

/** The file that holds the addresses of the stack, as JSON. */
export function addressesFile(dataFolder: string): string {
  return resolve(ROOT, dataFolder, 'run', 'addresses.json');
}

/** @throws Error that says what to do when no stack is running */
export function readAddresses(dataFolder: string): Addresses {
  const file = addressesFile(dataFolder);
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(
      `This user runs no stack: ${file} cannot be read. Run npm start, or set NATS_URL and MONGODB_URL.`,
      { cause },
    );
  }
}

export async function writeAddresses(facts: StackFacts): Promise<void> {
  const file = addressesFile(facts.dataFolder);
  const addresses: Addresses = {
    NATS_URL: facts.natsUsers ? withCredentials(facts.natsUrl, facts.natsUsers.operator) : facts.natsUrl,
    MONGODB_URL: facts.mongoUrl,
    SWITCHYARD_URL: reachable(urlOf(facts)),
  };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
}

export async function removeAddresses(dataFolder: string): Promise<void> {
  await rm(addressesFile(dataFolder), { force: true });
}

/** The address at which the edge listens. */
export function urlOf({ host, port }: Pick<LauncherConfig, 'host' | 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The address to connect to, for an edge that listens on all addresses. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
