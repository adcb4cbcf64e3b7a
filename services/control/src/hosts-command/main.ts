// `npm run hosts`: lists the computer hosts of an installation and sends them operator orders.
//
//   npm run hosts                        prints a line for each host
//   npm run hosts -- cordon <host>       places no new computers there; existing ones may run, stop and start
//   npm run hosts -- drain <host>        also stops running computers, keeps their files, and lets none start
//   npm run hosts -- uncordon <host>     lifts the order
//
// Connects to NATS_URL, or to the servers that `npm start` runs on the data folder SWITCHYARD_DATA.
import { existsSync, readFileSync } from 'node:fs';
import { connectBus, natsUrl } from '@switchyard/bus';
import { makeLogger, readConfig } from '@switchyard/service';
import { z } from 'zod';
import { hostsCommand } from './hosts-command.ts';

const settings = z.object({
  NATS_URL: z.string().optional(),
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  SWITCHYARD_DATA: z.string().default('.data'),
});

try {
  const url = await findNats();
  const logger = makeLogger('hosts', 'error');
  const bus = await connectBus({ url, service: 'hosts', logger, waitsForServer: false });
  try {
    process.stdout.write(await hostsCommand(bus, process.argv.slice(2), Date.now));
  } finally {
    await bus.close();
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function findNats(): Promise<string> {
  const { NATS_URL, SWITCHYARD_DATA, ...user } = readConfig(settings, process.env);
  if (NATS_URL !== undefined) return natsUrl({ NATS_URL, ...user });
  // Imported here only: a container of control has no launcher, and gets the server from its environment.
  const { addressesFile } = await import('@switchyard/local');
  const file = addressesFile(SWITCHYARD_DATA);
  if (!existsSync(file))
    throw new Error(`no installation is found at ${file}: run npm start first, or set NATS_URL`);
  return z.object({ NATS_URL: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).NATS_URL;
}
