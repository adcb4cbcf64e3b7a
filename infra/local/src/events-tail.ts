// `npm run events`: follows the streams of events, one readable line an event.
//
//   npm run events                      events from now on
//   npm run events -- --since 15m       also those of the last 15 minutes (s, m, h, d)
//   npm run events -- --only computer   only events of one noun: call, computer, key
//   npm run events -- --json            the events as JSON, one per line
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EVENT_STREAMS, type Event, parseEvent } from '@switchyard/contracts';
import { addressesFile } from './index.ts';

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const NANOS_PER_DOLLAR = 1e9;

const { values: options } = parseArgs({
  options: { since: { type: 'string' }, only: { type: 'string' }, json: { type: 'boolean', default: false } },
});

const servers = natsUrl();
const nc = await connect({ servers, name: 'events-tail', maxReconnectAttempts: -1 }).catch((error: Error) =>
  fail(`NATS does not answer at ${servers}: ${error.message}. Run npm start, or set NATS_URL.`),
);
const since = options.since === undefined ? null : new Date(Date.now() - durationMs(options.since));
const from = since
  ? ({ deliver_policy: DeliverPolicy.StartTime, opt_start_time: since.toISOString() } as const)
  : ({ deliver_policy: DeliverPolicy.New } as const);
process.stdout.on('error', () => process.exit(0)); // `| head` has had enough
for (const { stream, suffix } of EVENT_STREAMS) {
  const filter_subjects = `event.v1.${options.only ?? '*'}.*.*${suffix}`;
  const consumer = await jetstream(nc).consumers.get(stream, { filter_subjects, ...from });
  await consumer.consume({
    callback: (message) => {
      const text = message.string();
      process.stdout.write(`${options.json ? text : readable(text)}\n`);
    },
  });
}
const names = EVENT_STREAMS.map(({ stream }) => stream).join(' and ');
process.stderr.write(`following ${names} at ${nc.getServer()}; Ctrl-C ends\n`);
process.on('SIGINT', () => void nc.close().then(() => process.exit(0)));

/** NATS_URL, else the server that `npm start` runs on the data folder. */
function natsUrl(): string {
  if (process.env.NATS_URL) return process.env.NATS_URL;
  const file = addressesFile(process.env.SWITCHYARD_DATA ?? '.data');
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { NATS_URL: string }).NATS_URL;
  return fail(`No stack is running on ${dirname(dirname(file))}. Run npm start, or set NATS_URL.`);
}

function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = UNIT_MS[unit];
  if (count !== undefined && ms !== undefined) return Number(count) * ms;
  return fail(`--since ${text}: write a number and s, m, h or d, such as 15m`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readable(text: string): string {
  try {
    const event = parseEvent(JSON.parse(text));
    return [event.time.slice(11, 23), event.type.padEnd(18), ...describe(event)].join('  ');
  } catch {
    return `?            not a Switchyard event ${text.slice(0, 200)}`;
  }
}

function describe({ type, data }: Event): string[] {
  const fields = data as Record<string, unknown>;
  const words = (...names: string[]) =>
    names
      .map((name) => fields[name])
      .filter((value) => value !== null && value !== undefined)
      .map(String);
  switch (type) {
    case 'call.completed':
      return [
        ...words('request_id', 'model', 'status'),
        `$${dollars(fields.cost_nano)}`,
        `${fields.latency_ms} ms`,
        ...words('error_code'),
      ];
    case 'call.refused':
      return words('request_id', 'method', 'path', 'http_status', 'error_code');
    case 'call.voided':
      return words('request_id', 'reason');
    case 'computer.metered':
      return [
        ...words('computer_id'),
        `run ${fields.run} minute ${fields.minute}`,
        `$${dollars(fields.cost_nano)}`,
      ];
    case 'computer.created':
    case 'computer.started':
    case 'computer.stopped':
    case 'computer.deleted':
      return words('computer_id', 'status', 'stop_reason', 'host');
    case 'video.charged':
    case 'video.refunded':
      return [...words('video_id', 'model', 'duration', 'reason'), `$${dollars(fields.cost_nano)}`];
    case 'video.completed':
    case 'video.failed':
      return [...words('video_id', 'model', 'error_code'), `${fields.elapsed_ms} ms`];
    case 'credit.granted':
      return [...words('credit_id', 'reason', 'reference'), `$${dollars(fields.amount_nano)}`];
    case 'charge.refunded':
      return [...words('charge', 'reason', 'reference'), `$${dollars(fields.amount_nano)}`];
    case 'account.updated':
      return [...words('org', 'by_key_id', 'billing'), ...limitOf(fields.monthly_limit_nano)];
    case 'org.created':
    case 'org.suspended':
    case 'org.restored':
    case 'org.removed':
      return words('org', 'by_key_id', 'removed_at');
    case 'key.created':
    case 'key.updated':
    case 'key.revoked':
      return words('key_id', 'by_key_id');
    default:
      throw new Error(`undescribed event type: ${type satisfies never}`);
  }
}

function limitOf(nanos: unknown): string[] {
  return nanos === null ? [] : [`$${dollars(nanos)} a month`];
}

function dollars(nanos: unknown): string {
  return (Number(nanos) / NANOS_PER_DOLLAR).toFixed(9);
}
