// Finds the servers to audit: from the environment, or those that `npm start` runs on this data folder.
import { natsUrl } from '@switchyard/bus';
import { readConfig } from '@switchyard/service';
import { z } from 'zod';
import { databaseUrl } from '../store/database-url.ts';

/** The servers of an installation, with their users. */
export interface Servers {
  readonly NATS_URL: string;
  readonly NATS_TLS_CA?: string | undefined;
  readonly MONGODB_URL: string;
}

const settings = z.object({
  NATS_URL: z.string().optional(),
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  NATS_TLS_CA: z.string().optional(),
  MONGODB_URL: z.string().optional(),
  MONGODB_USER: z.string().optional(),
  MONGODB_PASSWORD: z.string().optional(),
  SWITCHYARD_DATA: z.string().default('.data'),
});

/**
 * @throws Error that says what to set when there is no installation
 * @throws ConfigError
 */
export async function serversOf(environment: Record<string, string | undefined>): Promise<Servers> {
  const set = readConfig(settings, environment);
  const { SWITCHYARD_DATA: folder, NATS_TLS_CA } = set;
  const NATS_URL = set.NATS_URL && natsUrl({ ...set, NATS_URL: set.NATS_URL });
  const MONGODB_URL = set.MONGODB_URL && databaseUrl({ ...set, MONGODB_URL: set.MONGODB_URL });
  if (NATS_URL !== undefined && MONGODB_URL !== undefined) return { NATS_URL, NATS_TLS_CA, MONGODB_URL };
  // Imported only here: a container of billing has no launcher, and its environment names the servers.
  const { readAddresses } = await import('@switchyard/local');
  const running = readAddresses(folder);
  const found = { NATS_URL: NATS_URL ?? running.NATS_URL, MONGODB_URL: MONGODB_URL ?? running.MONGODB_URL };
  return { ...found, NATS_TLS_CA };
}
