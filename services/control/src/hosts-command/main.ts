// `npm run hosts`: lists the computer hosts of an installation, sends them operator orders, and makes their NATS users.
//
//   npm run hosts [-- list]              prints a line for each host
//   npm run hosts -- add <name>          makes the user of a new host, and prints what the host needs
//   npm run hosts -- remove <name>       removes the user of a host, so that its credential is refused
//   npm run hosts -- cordon <host>       places no new computers there; existing ones may run, stop and start
//   npm run hosts -- drain <host>        also stops running computers, keeps their files, and lets none start
//   npm run hosts -- uncordon <host>     lifts the order
//
// <host> is the id or the name of a host.
// Connects to NATS_URL, or to the servers that `npm start` runs on the data folder SWITCHYARD_DATA.
import { connectBus, natsUrl } from '@switchyard/bus';
import { makeLogger, readConfig } from '@switchyard/service';
import { z } from 'zod';
import { hostsCommand } from './hosts-command.ts';

const settings = z.object({
  NATS_URL: z.string().optional(),
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  NATS_TLS_CA: z.string().optional(),
  SWITCHYARD_DATA: z.string().default('.data'),
});

try {
  process.stdout.write(await run(process.argv.slice(2)));
} catch (error) {
  const fix = error instanceof Error && 'fix' in error ? ` ${error.fix}` : '';
  process.stderr.write(`${error instanceof Error ? error.message : error}${fix}\n`);
  process.exitCode = 1;
}

async function run(words: readonly string[]): Promise<string> {
  const [verb, name] = words;
  const ofUsers = words.length === 2 && (verb === 'add' || verb === 'remove');
  const config = readConfig(settings, process.env);
  // A container of control has no launcher: it knows no names of hosts.
  const local = await import('@switchyard/local').catch(() => undefined);
  if (ofUsers && name !== undefined) {
    if (local === undefined)
      throw new Error('Users are made where nats-server is configured: run this there.');
    return verb === 'add' ? local.addHost(process.env, name) : local.removeHost(process.env, name);
  }
  const names = await local?.hostNames(process.env);
  const { NATS_URL } = config;
  const url = NATS_URL
    ? natsUrl({ ...config, NATS_URL })
    : local?.readAddresses(config.SWITCHYARD_DATA).NATS_URL;
  if (url === undefined) throw new Error('No NATS server is known. Set NATS_URL.');
  const logger = makeLogger('hosts', 'error');
  const bus = await connectBus({
    ...{ url, caFile: config.NATS_TLS_CA, service: 'hosts', logger },
    waitsForServer: false,
  });
  try {
    return await hostsCommand(bus, words, Date.now, names);
  } finally {
    await bus.close();
  }
}
