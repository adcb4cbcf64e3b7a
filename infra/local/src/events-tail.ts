// `npm run events`: follows the event stream, one readable line an event.
//
//   npm run events                      what happens from now on
//   npm run events -- --since 15m       and what happened in the last 15 minutes (s, m, h, d)
//   npm run events -- --only computer   of one kind of thing: call, computer, key
//   npm run events -- --json            the objects themselves, one a line
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EVENTS_STREAM, type Event, parseEvent } from '@switchyard/contracts';
import { addressesFile } from './index.ts';

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const NANOS_PER_DOLLAR = 1e9;

const { values: options } = parseArgs({
  options: { since: { type: 'string' }, only: { type: 'string' }, json: { type: 'boolean', default: false } },
});

const nc = await connect({ servers: natsUrl(), name: 'events-tail', maxReconnectAttempts: -1 });
const since = options.since === undefined ? null : new Date(Date.now() - durationMs(options.since));
const consumer = await jetstream(nc).consumers.get(EVENTS_STREAM, {
  filter_subjects: `event.v1.${options.only ?? '*'}.>`,
  ...(since
    ? { deliver_policy: DeliverPolicy.StartTime, opt_start_time: since.toISOString() }
    : { deliver_policy: DeliverPolicy.New }),
});
process.stderr.write(`following ${EVENTS_STREAM} at ${nc.getServer()}; Ctrl-C ends\n`);
process.on('SIGINT', () => void nc.close().then(() => process.exit(0)));
process.stdout.on('error', () => process.exit(0)); // `| head` has had enough
for await (const message of await consumer.consume()) {
  const text = message.string();
  process.stdout.write(`${options.json ? text : readable(text)}\n`);
}

/** The server of the environment, else the one that `npm start` runs on this data folder. */
function natsUrl(): string {
  if (process.env.NATS_URL) return process.env.NATS_URL;
  const file = addressesFile(process.env.SWITCHYARD_DATA ?? '.data');
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { NATS_URL: string }).NATS_URL;
  process.stderr.write(`No installation is found at ${file}: run npm start first, or set NATS_URL.\n`);
  return process.exit(1);
}

function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = UNIT_MS[unit];
  if (count !== undefined && ms !== undefined) return Number(count) * ms;
  process.stderr.write(`--since ${text}: write a number and s, m, h or d, such as 15m\n`);
  return process.exit(1);
}

function readable(text: string): string {
  try {
    const event = parseEvent(JSON.parse(text));
    return [event.time.slice(11, 23), event.type.padEnd(18), ...describe(event)].join('  ');
  } catch {
    return `?            not an event of ours   ${text.slice(0, 200)}`;
  }
}

function describe({ type, data }: Event): string[] {
  const told = data as Record<string, unknown>;
  const words = (...names: string[]) =>
    names
      .map((name) => told[name])
      .filter((value) => value !== null && value !== undefined)
      .map(String);
  switch (type) {
    case 'call.completed':
      return [
        ...words('request_id', 'model', 'status'),
        `$${dollars(told.cost_nano)}`,
        `${told.latency_ms} ms`,
        ...words('error_code'),
      ];
    case 'call.refused':
      return words('request_id', 'method', 'path', 'http_status', 'error_code');
    case 'call.voided':
      return words('request_id', 'reason');
    case 'computer.metered':
      return [
        ...words('computer_id'),
        `run ${told.run} minute ${told.minute}`,
        `$${dollars(told.cost_nano)}`,
      ];
    case 'computer.created':
    case 'computer.started':
    case 'computer.stopped':
    case 'computer.deleted':
      return words('computer_id', 'status', 'stop_reason', 'host');
    case 'video.charged':
    case 'video.refunded':
      return [...words('video_id', 'model', 'duration', 'reason'), `$${dollars(told.cost_nano)}`];
    case 'video.completed':
    case 'video.failed':
      return [...words('video_id', 'model', 'error_code'), `${told.elapsed_ms} ms`];
    case 'credit.granted':
      return [...words('credit_id', 'reason', 'reference'), `$${dollars(told.amount_nano)}`];
    case 'charge.refunded':
      return [...words('charge', 'reason', 'reference'), `$${dollars(told.amount_nano)}`];
    case 'key.created':
    case 'key.updated':
    case 'key.revoked':
      return words('key_id', 'by_key_id');
    default:
      throw new Error(`an event that nobody described: ${type satisfies never}`);
  }
}

function dollars(nanos: unknown): string {
  return (Number(nanos) / NANOS_PER_DOLLAR).toFixed(9);
}
