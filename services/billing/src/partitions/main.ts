// `npm run partitions`: shows or changes the number of partitions of billing.
//
//   npm run partitions               shows the partitions and their owners
//   npm run partitions -- --to 2     splits billing into 1, 2, 4, 8 or 16 partitions, while everything keeps running
//
// The servers: NATS_URL and MONGODB_URL, or those that `npm start` runs on the data folder SWITCHYARD_DATA.
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
    caFile: servers.NATS_TLS_CA,
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
