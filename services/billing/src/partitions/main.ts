// `npm run partitions`: into how many partitions billing is split, and who owns them.
//
//   npm run partitions               how it is
//   npm run partitions -- --to 2     splits it anew, into 1, 2, 4, 8 or 16; while everything runs, and as often as needed
//
// The servers: NATS_URL and MONGODB_URL, else those that `npm start` runs on the data folder SWITCHYARD_DATA.
import { parseArgs } from 'node:util';
import { connectBus } from '@switchyard/bus';
import { makeLogger, systemClock } from '@switchyard/service';
import { serversOf } from '../audit/config.ts';
import { databaseOf, makeMongoClient, openStore } from '../store/store.ts';
import { partitionsCommand } from './partitions-command.ts';

try {
  const { values } = parseArgs({ options: { to: { type: 'string' } } });
  const servers = await serversOf(process.env);
  const client = makeMongoClient(servers.MONGODB_URL);
  const logger = makeLogger('partitions', 'error');
  const bus = await connectBus({
    url: servers.NATS_URL,
    service: 'partitions',
    logger,
    waitsForServer: false,
  });
  const store = openStore(databaseOf(client, servers.MONGODB_URL));
  try {
    process.stdout.write(await partitionsCommand(values.to, { bus, store, clock: systemClock, logger }));
  } finally {
    await Promise.all([bus.close(), client.close()]);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
