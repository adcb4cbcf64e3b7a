// The prices of computers: a computer keeps the rates that its org had when it was created. Uses a real nats-server, and a
// host that answers without a container.
import { type Bus, connectBus, openBucket, request, type ServiceHost, serve } from '@switchyard/bus';
import {
  type ComputerRecord,
  minuteEvent,
  minuteLines,
  newId,
  placementKey,
  toComputerObject,
  toStreamedEvent,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import { makeLogger, type Running, readConfig, systemClock } from '@switchyard/service';
import { startNats, type TestServer, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { config as controlConfig } from '../config.ts';
import { start } from '../run.ts';

const logger = makeLogger('control', 'silent');
const HEARD_FOR_MS = 36_000_000;
const MARKUP = { markup_percent: '12.5' };

let nats: TestServer;
let bus: Bus;
let controlBus: Bus;
let control: Running;
let host: ServiceHost;
const made: ComputerRecord[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  const hostId = newId('host');
  host = await serve(bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  host.handleHost(hostId, 'create', async (beginning) => {
    const { record } = beginning.made ?? {};
    if (!record) throw new Error('control sends the record that it has written');
    made.push(record);
    const limits = { idleStopMs: 1, maxLifetimeMs: 1 };
    return toComputerObject(record, { limits, cost: 0, hostSilent: false });
  });
  await (await openBucket(bus, 'hosts')).put(hostId, {
    ...{ id: hostId, at: new Date(systemClock.now() + HEARD_FOR_MS).toISOString() },
    ...{ cpu_total: 8, cpu_used: 0, memory_mb_total: 16_384, memory_mb_used: 0, computers: 0 },
    ...{ disk_mb_free: null, disk_mb_free_min: null, image_ready: true, image_progress: null },
    ...{ refuses: null, cordoned: false },
  });
  controlBus = await connectBus({ url: nats.url, service: 'control', logger });
  const config = readConfig(controlConfig, { SWITCHYARD_DATA: await temporaryFolder('control') });
  control = await start({ config, bus: controlBus, logger, clock: systemClock });
});
afterAll(async () => {
  await control?.stop();
  await controlBus?.close();
  await host?.drain();
  await bus?.close();
  await nats?.stop();
});

async function minuteOf(markup: Partial<typeof MARKUP>) {
  const body = { cpu: 2, memory_mb: 1_536 };
  await request(bus, 'computers.create', {
    ...{ org: 'org_a', key_id: 'key_a', body, limited: false },
    ...markup,
  });
  const { org, id } = made.at(-1) ?? { org: '', id: '' };
  // What control charges a minute by, whatever its host says.
  const placements = await openBucket(bus, 'computer-placements');
  const record = (await placements.get(placementKey(org, id)))?.value;
  if (!record) throw new Error('control keeps the placement of a computer');
  const costNano = charge(minuteLines(record));
  const source = 'test';
  return minuteEvent({ record, run: { number: 1 }, minute: 0, costNano, source, time: new Date(0) });
}

test('a minute of a computer of an org with a mark-up costs exactly that much more', async () => {
  const plain = await minuteOf({});
  // 0.0001 + 2 × 0.0008 + 1.5 × 0.0001 + 10 × 0.000002
  expect(plain.data.cost_nano).toBe('1870000');
  expect(plain).not.toHaveProperty('markuppercent');
  const marked = await minuteOf(MARKUP);
  expect(marked.data.cost_nano).toBe('2103750');
  expect(marked.data.lines).toEqual([
    { unit: 'minute', quantity: 1, rate: '0.0001125' },
    { unit: 'vcpu_minute', quantity: 2, rate: '0.0009' },
    { unit: 'gb_memory_minute', quantity: 1_536, rate: '0.0001125', per: 1_024 },
    { unit: 'gb_disk_minute', quantity: 10, rate: '0.00000225' },
  ]);
  expect(marked.markuppercent).toBe('12.5');
  expect(JSON.stringify(toStreamedEvent(marked))).not.toContain('markup');
});

test('the options show the prices of the org', async () => {
  const plain = await request(bus, 'computers.options', {});
  expect(plain.pricing).toMatchObject({ per_minute: 0.0001, per_vcpu_minute: 0.0008 });
  const marked = await request(bus, 'computers.options', MARKUP);
  expect(marked).toEqual({
    ...plain,
    pricing: {
      ...plain.pricing,
      ...{ per_minute: 0.0001125, per_vcpu_minute: 0.0009 },
      ...{ per_gb_memory_minute: 0.0001125, per_gb_disk_minute: 0.00000225 },
    },
  });
});
