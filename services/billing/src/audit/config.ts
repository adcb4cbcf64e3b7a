// Finds the servers to audit: from the environment, or those that `npm start` runs on this data folder.
import { existsSync, readFileSync } from 'node:fs';
import { readConfig } from '@switchyard/service';
import { z } from 'zod';

/** The servers of an installation. */
export interface Servers {
  readonly NATS_URL: string;
  readonly MONGODB_URL: string;
}

const settings = z.object({
  NATS_URL: z.string().optional(),
  MONGODB_URL: z.string().optional(),
  SWITCHYARD_DATA: z.string().default('.data'),
});

/**
 * @throws Error that says what to set when there is no installation
 * @throws ConfigError
 */
export async function serversOf(environment: Record<string, string | undefined>): Promise<Servers> {
  const { SWITCHYARD_DATA: folder, NATS_URL, MONGODB_URL } = readConfig(settings, environment);
  if (NATS_URL !== undefined && MONGODB_URL !== undefined) return { NATS_URL, MONGODB_URL };
  // Imported only here: a container of billing has no launcher, and its environment names the servers.
  const { addressesFile } = await import('@switchyard/local');
  const file = addressesFile(folder);
  if (!existsSync(file))
    throw new Error(
      `no installation is found at ${file}: run npm start first, or set NATS_URL and MONGODB_URL`,
    );
  const running = JSON.parse(readFileSync(file, 'utf8')) as Servers;
  return { NATS_URL: NATS_URL ?? running.NATS_URL, MONGODB_URL: MONGODB_URL ?? running.MONGODB_URL };
}
