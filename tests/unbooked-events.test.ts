// Billing is down, and the stream of events is full before it is back: no charge is lost for that, and a flood of refused
// calls pushes none out.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Bus, connectBus, publishEvent, REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX } from '@switchyard/bus';
import { DEFAULT_ORG, EVENTS_STREAM, eventIds, makeEvent, REFUSALS_STREAM } from '@switchyard/contracts';
import { ROOT } from '@switchyard/local';
import { makeLogger } from '@switchyard/service';
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  temporaryFolder,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

/** Of the stream, instead of 8 GiB: room for some 6,000 events. */
const EVENTS_BYTES_MAX = 4 * 1024 ** 2;
/** What was charged before the first call of the test: a little less than half of the stream. */
const MINUTES = 3_000;
const MINUTE_NANO = 1_000_000;
const NANOS_PER_DOLLAR = 1e9;
/** Calls that are refused. */
const FLOOD = 1_500;
const FLOOD_AT_ONCE = 40;
const MINUTE_MS = 60_000;
/** Longer than it takes to see the backlog. */
const PATIENCE_MS = 60_000;
/** Of one event, on a busy machine. */
const PUBLISHED_MS_MAX = 60_000;
/** 4,500 requests and the start of billing. */
const TEST_MS_MAX = 600_000;

let upstream: Upstream;
let stack: TestStack;
let bus: Bus;
let billing: ChildProcess;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [chatModel('acme/plain', upstream.url, 'plain')];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog },
    services: ['edge', 'model-router', 'control'],
  });
  bus = await connectBus({
    url: stack.natsUrl,
    service: 'test',
    logger: makeLogger('test', 'silent'),
  });
  await bus.jsm.streams.update(EVENTS_STREAM, { max_bytes: EVENTS_BYTES_MAX });
});
beforeEach(untilMidnightIsFar);
afterAll(async () => {
  billing?.kill('SIGTERM');
  await bus?.close();
  await stack?.stop();
  await upstream?.close();
});

async function startBilling(): Promise<void> {
  const data = await temporaryFolder('billing');
  billing = spawn(process.execPath, [join(ROOT, 'services', 'billing', 'src/main.ts')], {
    env: {
      ...process.env,
      NATS_URL: stack.natsUrl,
      MONGODB_URL: stack.mongoUrl,
      SWITCHYARD_DATA: data,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(billing, 'message');
}

async function chargeMinutes(): Promise<void> {
  const computer = 'cmp_before';
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const event = makeEvent({
      name: 'computer.metered',
      id: eventIds.minute(computer, 1, minute),
      source: '/test',
      time: new Date(),
      data: {
        ...{ computer_id: computer, org: DEFAULT_ORG, key_id: 'key_1', host: 'host_1', run: 1, minute },
        ...{ image: 'small', cpu: 1, memory_mb: 1_024, disk_gb: 10, lines: [] },
        cost_nano: String(MINUTE_NANO),
      },
    });
    await publishEvent(bus, event, { timeoutMs: PUBLISHED_MS_MAX });
  }
}

async function chat(model: string): Promise<{ status: number; headers: Headers; json: Answer }> {
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Answer };
}
interface Answer {
  usage: { cost: number };
  error: { code: string };
}

/** Calls until one is refused; the dollars that the others cost. */
async function callUntilRefused(): Promise<number> {
  let dollars = 0;
  for (const from = performance.now(); performance.now() - from < PATIENCE_MS; ) {
    const { status, headers, json } = await chat('acme/plain');
    if (status === 200) dollars += json.usage.cost;
    else {
      expect({ status, code: json.error.code }).toEqual({ status: 503, code: 'service_unavailable' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      return dollars;
    }
  }
  throw new Error('billing is down, yet no call was refused');
}

/** Nano-dollars of all that billing has booked. */
async function bookedNanos(): Promise<number> {
  const headers = { authorization: `Bearer ${stack.key}` };
  const usage = await fetch(`${stack.url}/v1/usage`, { headers });
  const { total } = (await usage.json()) as { total: { cost: number } };
  return Math.round(total.cost * NANOS_PER_DOLLAR);
}

async function floodWithRefusals(): Promise<void> {
  let left = FLOOD;
  const one = async () => {
    while (left-- > 0) expect((await chat('acme/unknown')).status).toBeGreaterThanOrEqual(400);
  };
  await Promise.all(Array.from({ length: FLOOD_AT_ONCE }, one));
}

test('billable work is refused before an unbooked event is discarded, and billing books every charge when it is back', {
  timeout: TEST_MS_MAX,
}, async () => {
  await chargeMinutes();
  const from = performance.now();
  const answered = await callUntilRefused();
  const full = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
  await floodWithRefusals();
  const minutesMax = Math.ceil((performance.now() - from) / MINUTE_MS) + 1;
  const { state } = await bus.jsm.streams.info(EVENTS_STREAM);
  expect(state.first_seq).toBe(1); // nothing is discarded
  expect(state.last_seq).toBe(full.last_seq); // refused calls are not in it
  const refusals = (await bus.jsm.streams.info(REFUSALS_STREAM)).state;
  expect(refusals.messages).toBeGreaterThan(0);
  expect(refusals.messages).toBeLessThanOrEqual(minutesMax * REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX);

  await startBilling();
  const charged = MINUTES * MINUTE_NANO + Math.round(answered * NANOS_PER_DOLLAR);
  await expect.poll(bookedNanos).toBe(charged);
  await expect.poll(async () => (await chat('acme/unknown')).status).toBe(404);
  expect(await bookedNanos()).toBe(charged);
});
