// `npm run bench:billing`: how many events a second billing books, each acknowledged once its log row, its ledger row and
// its aggregates are on disk, beside how many calls a second the edge answers in the same run, the most events that can
// come. The edge's calls are made while billing is down; then billing books them all.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { type Bus, connectBus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { chatModel, type TestStack, temporaryFolder, writeTestCatalog } from '@switchyard/testing';
import { median } from './figures.ts';
import { startFastUpstream } from './gateways.ts';
import { measure } from './load.ts';
import { startMeasuredStack } from './measured-stack.ts';
import { cpuMs } from './processes.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, connections: { type: 'string', default: '32' } },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);

/** Services that answer a chat call; billing starts later. */
const ANSWERING = ['edge', 'model-router', 'control'];
const GOAL_TIMES = 3;
const BILLING = join(import.meta.dirname, '../../services/billing/src/main.ts');
const BILLING_CONSUMER = 'billing-p0';
const POLL_MS = 20;
/**
 * For edge and router; their events then warm up billing and the MongoDB server. After the events of 10 s the compiler
 * of the stand-in's JVM still took half of its processor time, after those of 25 s a quarter.
 */
const WARM_UP_SECONDS = 25;
const MS_PER_S = 1_000;
const QUIET_LEVELS: ReadonlySet<string | number> = new Set(['debug', 'info', 20, 30]);

interface Rate {
  perSecond: number;
}

/** Figures of billing's work. */
interface Booked extends Rate {
  /** Milliseconds of CPU for each event: billing's own, the MongoDB server's, and nats-server's. */
  cpuMs: { billing: number; mongo: number; nats: number };
  batches: Batch[];
}

/** What billing logs of each batch at the level `debug`. */
interface Batch {
  messages: number;
  /** Milliseconds to book it. */
  ms: number;
}

const upstream = await startFastUpstream();
const models = [chatModel('acme/fast', upstream.url, 'fast')];
const catalog = await writeTestCatalog({ url: upstream.url, models });
const stack = await startMeasuredStack({ env: { SWITCHYARD_CATALOG: catalog }, services: ANSWERING });
const bus = await connectBus({
  url: stack.natsUrl,
  service: 'benchmark',
  logger: makeLogger('benchmark', 'warn'),
});
try {
  await run();
} finally {
  await bus.close();
  await stack.stop();
  upstream.stop();
}

async function run(): Promise<void> {
  await answerCalls(stack, WARM_UP_SECONDS);
  const warmUp = await lastSequence(bus);
  const edge = await answerCalls(stack, seconds);
  const events = await lastSequence(bus);
  const booked = await bookAll(stack, bus, { warmUp, events });
  const database =
    stack
      .output()
      .match(/^.*mongo.*$/im)?.[0]
      ?.trim() ?? stack.mongoUrl;
  console.log(
    `MongoDB: ${database}\nload of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  );
  console.log(
    `${events} events, of ${WARM_UP_SECONDS} s and ${seconds} s of chat calls by ${connections} callers; the first are the warm-up\n`,
  );
  report('the edge answers, billing down', edge);
  report('billing books, durably', booked);
  reportWork(booked);
  const times = booked.perSecond / edge.perSecond;
  const verdict = times >= GOAL_TIMES ? 'reached' : 'missed';
  console.log(
    `\nbilling books ${times.toFixed(1)} times what the edge answers (goal: ${GOAL_TIMES}, ${verdict})`,
  );
}

async function answerCalls({ url, key }: TestStack, seconds: number): Promise<Rate> {
  const target = { url: `${url}/v1`, key, model: 'acme/fast' };
  const { callsPerSecond, errors } = await measure(target, { connections, seconds, stream: false });
  if (errors > 0) throw new Error(`${errors} calls were not answered`);
  return { perSecond: callsPerSecond };
}

async function lastSequence({ jsm }: Bus): Promise<number> {
  return (await jsm.streams.info(EVENTS_STREAM)).state.last_seq;
}

/** From the last event of the warm-up to the last of all. */
async function bookAll(
  { natsUrl, mongoUrl, pidOf }: TestStack,
  { jsm }: Bus,
  { warmUp, events }: { warmUp: number; events: number },
): Promise<Booked> {
  const acknowledged = async () => {
    const info = await jsm.consumers.info(EVENTS_STREAM, BILLING_CONSUMER).catch(() => null);
    return info?.ack_floor.stream_seq ?? 0;
  };
  const data = await temporaryFolder('bench-billing');
  const billing = spawn(process.execPath, [BILLING], {
    env: {
      ...process.env,
      NATS_URL: natsUrl,
      MONGODB_URL: mongoUrl,
      SWITCHYARD_DATA: data,
      LOG_LEVEL: 'debug',
      SWITCHYARD_AUDIT_SECONDS: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  if (!billing.stdout) throw new Error('billing has no output');
  const batches = batchesOf(billing.stdout);
  const pids = { billing: billing.pid ?? 0, mongo: await pidOf('mongo'), nats: await pidOf('nats') };
  const cpu = () => [cpuMs([pids.billing]), cpuMs([pids.mongo]), cpuMs([pids.nats])] as const;
  try {
    const first = await until(acknowledged, (floor) => floor >= warmUp, billing);
    const startedAt = performance.now();
    const before = cpu();
    batches.length = 0;
    await until(acknowledged, (floor) => floor >= events, billing);
    const count = events - first;
    const elapsed = performance.now() - startedAt;
    const [own, mongo, nats] = cpu().map((ms, i) => (ms - (before[i] ?? 0)) / count);
    return {
      perSecond: (count * MS_PER_S) / elapsed,
      cpuMs: { billing: own ?? 0, mongo: mongo ?? 0, nats: nats ?? 0 },
      batches,
    };
  } finally {
    billing.kill('SIGTERM');
    await once(billing, 'exit');
    await rm(data, { recursive: true, force: true });
  }
}

/** Filled while billing runs. Its other lines from level `warn` up are shown. */
function batchesOf(stdout: Readable): Batch[] {
  const batches: Batch[] = [];
  createInterface(stdout).on('line', (line) => {
    const said = JSON.parse(line) as { level: string | number; msg?: string } & Batch;
    if (said.msg === 'a batch was booked') batches.push(said);
    else if (!QUIET_LEVELS.has(said.level)) console.log(line);
  });
  return batches;
}

async function until(
  look: () => Promise<number>,
  isEnough: (found: number) => boolean,
  process: ChildProcess,
): Promise<number> {
  for (;;) {
    const found = await look();
    if (isEnough(found)) return found;
    if (process.exitCode !== null) throw new Error(`billing ended with code ${process.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function report(name: string, { perSecond }: Rate): void {
  console.log(`${name.padEnd(44)}${perSecond.toFixed(0).padStart(8)} a second`);
}

function reportWork({ cpuMs: { billing, mongo, nats }, batches }: Booked): void {
  const of = (pick: (batch: Batch) => number) => median(batches.map(pick)).toFixed(0);
  const largest = Math.max(...batches.map(({ messages }) => messages));
  console.log(
    `  ${batches.length} batches: median ${of(({ messages }) => messages)} events, largest ${largest}; ` +
      `median ${of(({ ms }) => ms)} ms to book\n` +
      `  CPU for each event: billing ${billing.toFixed(3)} ms, MongoDB ${mongo.toFixed(3)} ms, nats-server ${nats.toFixed(3)} ms`,
  );
}
