// `npm run bench:audit`: time and memory of `npm run audit` over a ledger of a million rows of one year with their log
// rows; the last rows also have their events in the stream and the edge's receipts (`-- --rows`, `-- --events`; maximum
// heap: `-- --heap-mb`). Uses the server of MONGODB_URL, or starts one. Billing's own code creates the rows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
import {
  type Bus,
  connectBus,
  ensureEventsStream,
  ensureReceiptsStream,
  publishEvent,
} from '@switchyard/bus';
import { EVENTS_STREAM, type Event, receiptsSubject } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { mongo, startNats } from '@switchyard/testing';
import { completed } from '../../services/billing/src/fixtures/events.ts';
import { ONLY_PARTITION } from '../../services/billing/src/partitions/partition.ts';
import { bookedMonth, lineIdOf, lineKeyOf } from '../../services/billing/src/statements/months.ts';
import type { Entry } from '../../services/billing/src/store/entries.ts';
import { entryOf } from '../../services/billing/src/store/entry-of.ts';
import { ensureIndexes } from '../../services/billing/src/store/indexes.ts';
import { LedgerWriter } from '../../services/billing/src/store/ledger-writer.ts';
import { makeMongoClient, openStore, type Store } from '../../services/billing/src/store/store.ts';

const AUDIT = fileURLToPath(new URL('../../services/billing/src/audit/main.ts', import.meta.url));
const BATCH = 5_000;
const EVENTS_AT_ONCE = 500;
const YEAR_MS = 365 * 86_400_000;
const SILENCE_MS = 600_000;
const MEMORY_EVERY_MS = 100;
const [MODELS, KEYS] = [12, 20];

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '50000' },
    'heap-mb': { type: 'string', default: '256' },
  },
});
const rows = Number(values.rows);
const events = Number(values.events);
const logger = makeLogger('bench', 'warn');
const server = await mongo();
const nats = await startNats();
const client = makeMongoClient(server.url, { silenceMs: SILENCE_MS });
const bus = await connectBus({ url: nats.url, service: 'bench', logger });
try {
  await run();
} finally {
  await client.db(server.database).dropDatabase();
  await Promise.all([client.close(), bus.close()]);
  await Promise.all([server.stop(), nats.stop()]);
}

async function run(): Promise<void> {
  const store = openStore(client.db(server.database));
  await ensureIndexes(store);
  await ensureEventsStream(bus);
  await ensureReceiptsStream(bus);
  await seed(store, bus);
  const url = new URL(server.url);
  url.pathname = `/${server.database}`;
  console.log(`load ${loadavg()[0]?.toFixed(1)}; the audit begins`);
  await audit({ NATS_URL: nats.url, MONGODB_URL: url.href });
}

/** Inserts the year in bulk, except its last events, which billing's code books; then computes the sums. */
async function seed(store: Store, bus: Bus): Promise<void> {
  const now = Date.now();
  const began = performance.now();
  const step = Math.floor(YEAR_MS / rows);
  const callAt = (i: number, at: number) =>
    completed(`req_${i}`, BigInt((i * 7_919) % 1_000_000), {
      ...{ org: 'org_bench', key_id: `key_${i % KEYS}`, model: `acme/m${i % MODELS}`, maker: 'acme' },
      time: new Date(at),
    });
  const past = rows - events;
  for (let first = 0; first < past; first += BATCH) {
    const entries = Array.from({ length: Math.min(BATCH, past - first) }, (_, i) =>
      entryOf(callAt(first + i, now - YEAR_MS + (first + i) * step)),
    );
    await insert(store, entries, first, now);
  }
  const writer = new LedgerWriter({ store, logger });
  await writer.recover();
  // The audit asks billing's consumer, so everything is booked first.
  for (let first = past; first < rows; first += EVENTS_AT_ONCE) {
    const some = Array.from({ length: Math.min(EVENTS_AT_ONCE, rows - first) }, (_, i) =>
      callAt(first + i, Date.now() + 10_000),
    );
    await publish(bus, some);
    await writer.append(some.flatMap((event) => entryOf(event) ?? []));
  }
  await bus.jsm.consumers.add(EVENTS_STREAM, {
    durable_name: ONLY_PARTITION.consumer,
    deliver_policy: DeliverPolicy.New,
    ack_policy: AckPolicy.Explicit,
  });
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(
    `${rows.toLocaleString('en-US')} rows, ${events.toLocaleString('en-US')} events in ${seconds} s`,
  );
}

async function insert(store: Store, entries: (Entry | null)[], first: number, now: number): Promise<void> {
  const calls = entries.flatMap((entry) => (entry?.what === 'occurrence' ? [entry] : []));
  await store.logs.insertMany(
    calls.flatMap(({ log }) => log ?? []),
    { ordered: false },
  );
  const ledger = calls.flatMap(({ row }, i) => {
    if (!row) return [];
    const month = bookedMonth(row.at.getTime(), row.at.getTime() + 1_000);
    const line = lineIdOf(lineKeyOf({ ...row, month }));
    return [{ ...row, month, line, p: ONLY_PARTITION.name, n: BigInt(first + i + 1) }];
  });
  if (ledger.some(({ at }) => at.getTime() > now)) throw new Error('a row of the past is of the future');
  await store.ledger.insertMany(ledger, { ordered: false });
}

async function publish(bus: Bus, some: readonly Event<'call.completed'>[]): Promise<void> {
  await Promise.all(some.map((event) => publishEvent(bus, event)));
  const answers = { org_bench: some.map(({ id, data }) => [id, data.cost_nano]) };
  await bus.js.publish(receiptsSubject('bench'), JSON.stringify({ edge: 'bench', number: 1, answers }));
}

async function audit(servers: Record<string, string>): Promise<void> {
  const began = performance.now();
  const child = spawn(process.execPath, [`--max-old-space-size=${values['heap-mb']}`, AUDIT], {
    env: { ...process.env, ...servers },
    stdio: 'inherit',
  });
  let kib = 0;
  const timer = setInterval(() => {
    kib = Math.max(kib, peakKib(child.pid));
  }, MEMORY_EVERY_MS);
  const [code] = await once(child, 'close');
  clearInterval(timer);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(`${seconds} s, ${(kib / 1024).toFixed(0)} MiB at its peak, exit code ${code}`);
}

/** Peak memory of a process, sampled until it ends. */
function peakKib(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // the process has ended
  }
}
