// `npm run events`: follows the streams of events, one line of text per event.
//
//   npm run events                      events from now on
//   npm run events -- --since 15m       also those of the last 15 minutes (s, m, h, d)
//   npm run events -- --only computer   only events of one noun, such as call or computer
//   npm run events -- --json            the events as JSON, one per line
import { parseArgs } from 'node:util';
import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { connectionOptions, natsUrl } from '@switchyard/bus/nats-url';
import { EVENT_STREAMS, EVENTS, eventLine, parseEvent } from '@switchyard/contracts';
import { readAddresses } from './addresses.ts';

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const NOUNS = [...new Set(Object.keys(EVENTS).map((name) => name.replace(/\..*/, '')))];

const options = readOptions();

const address = connectionOptions(findNats(), process.env.NATS_TLS_CA || undefined);
const connecting = connect({ ...address, name: 'events-tail', maxReconnectAttempts: -1 });
const nc = await connecting.catch((error: Error) =>
  fail(
    `NATS does not answer at ${address.servers.join(', ')}: ${error.message}. Run npm start, or set NATS_URL.`,
  ),
);
const { since } = options;
const from = since
  ? ({ deliver_policy: DeliverPolicy.StartTime, opt_start_time: since.toISOString() } as const)
  : ({ deliver_policy: DeliverPolicy.New } as const);
process.stdout.on('error', () => process.exit(0)); // `| head` closed the pipe
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

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        since: { type: 'string' },
        only: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const { only, json, since } = values;
    if (only !== undefined && !NOUNS.includes(only))
      return fail(`--only ${only}: write one of ${NOUNS.join(', ')}`);
    // Not before 1970, which JetStream does not read.
    const from = since === undefined ? null : new Date(Math.max(0, Date.now() - durationMs(since)));
    return { only, json, since: from };
  } catch (error) {
    return fail((error as Error).message);
  }
}

/** NATS_URL, else the server that `npm start` runs on the data folder. */
function findNats(): string {
  const { NATS_URL, NATS_USER, NATS_PASSWORD, SWITCHYARD_DATA = '.data' } = process.env;
  if (NATS_URL) return natsUrl({ NATS_URL, NATS_USER, NATS_PASSWORD });
  try {
    return readAddresses(SWITCHYARD_DATA).NATS_URL;
  } catch (error) {
    return fail((error as Error).message);
  }
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
    return [
      event.time.slice(11, 23),
      event.type.padEnd(18),
      ...eventLine(event.type, { ...event.data }),
    ].join('  ');
  } catch {
    return `?            not a Switchyard event ${text.slice(0, 200)}`;
  }
}
