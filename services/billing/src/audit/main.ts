// `npm run audit`: checks the books to the nano-dollar, while the installation keeps running.
//
//   npm run audit                  prints a report; exit code 0: zero drift, 1: drift, 2: the audit could not finish
//   npm run audit -- --json        the report as JSON
//   npm run audit -- --idle        nothing is running: any remaining hold is a drift too
//   npm run audit -- --keep        keeps the database with the rebuilt data, and prints its name
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { connectBus } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { databaseOf, makeMongoClient, openStore } from '../store/store.ts';
import { audit } from './audit.ts';
import { type Servers, serversOf } from './config.ts';
import { reportJson, reportText } from './report-text.ts';

/** The stand-in takes a while to sort a ledger without an index. */
const SILENCE_MS = 10 * 60_000;
const NAME_BYTES = 8;
const EXIT = { zeroDrift: 0, drift: 1, failed: 2 } as const;

process.exit(await main());

async function main(): Promise<number> {
  try {
    const { values: options } = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        idle: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    });
    return await run(await serversOf(process.env), options);
  } catch (error) {
    process.stderr.write(`the audit failed: ${error instanceof Error ? error.message : error}\n`);
    return EXIT.failed;
  }
}

async function run(
  servers: Servers,
  options: { json: boolean; idle: boolean; keep: boolean },
): Promise<number> {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const client = makeMongoClient(servers.MONGODB_URL, { silenceMs: SILENCE_MS });
  const logger = makeLogger('audit', 'error');
  const { NATS_URL: url, NATS_TLS_CA: caFile } = servers;
  const bus = await connectBus({ url, caFile, service: 'audit', logger, waitsForServer: false });
  // Rebuilt data is worthless after a crash, so its writes do not wait for a majority.
  const name = `switchyard_audit_${randomBytes(NAME_BYTES).toString('hex')}`;
  const workDb = client.db(name, { writeConcern: { w: 1 } });
  try {
    const store = openStore(databaseOf(client, servers.MONGODB_URL));
    const onStep = (step: string) => say(`step: ${step}`);
    const report = await audit({ bus, store, workDb, idle: options.idle, onStep });
    process.stdout.write(options.json ? `${reportJson(report)}\n` : reportText(report));
    return report.drifts === 0 ? EXIT.zeroDrift : EXIT.drift;
  } finally {
    if (options.keep) say(`the rebuilt data is kept in the database ${name}`);
    else await workDb.dropDatabase().catch((error: unknown) => say(`${name} could not be dropped: ${error}`));
    await Promise.all([bus.close(), client.close()]);
  }
}
