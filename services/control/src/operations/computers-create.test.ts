// The prices of computers: a computer keeps the rates that its org had when it was created. Then, the hosts that are asked
// for one. Uses a real nats-server, and hosts that answer without a container.
import { type Bus, connectBus, openBucket, request, type ServiceHost, serve } from '@switchyard/bus';
import {
  type ComputerObject,
  type ComputerRecord,
  type HostHeartbeat,
  minuteEvent,
  minuteLines,
  newId,
  placementKey,
  ServiceError,
  toComputerLimits,
  toComputerObject,
  toStreamedEvent,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import { makeLogger, type Running, readConfig } from '@switchyard/service';
import { FakeClock, startNats, type TestServer, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Hosts } from '../computers/hosts.ts';
import { PlacedRecords } from '../computers/placed-records.ts';
import { SLOT_EMPTY_MS_MAX, Slots } from '../computers/slots.ts';
import { config as controlConfig } from '../config.ts';
import { start } from '../run.ts';
import { createComputer } from './computers-create.ts';

const logger = makeLogger('control', 'silent');
const MARKUP = { markup_percent: '12.5' };

let nats: TestServer;
let bus: Bus;
let controlBus: Bus;
let control: Running;
let host: ServiceHost;
const hostId = newId('host');
const made: ComputerRecord[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  host = await serve(bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  host.handleHost(hostId, 'create', async ({ made }) => make(made?.record));
  await announce(hostId, { cpuUsed: 1 });
  controlBus = await connectBus({ url: nats.url, service: 'control', logger });
  const config = readConfig(controlConfig, { SWITCHYARD_DATA: await temporaryFolder('control') });
  // By this clock no heartbeat grows old.
  control = await start({ config, bus: controlBus, logger, clock: new FakeClock() });
});
afterAll(async () => {
  await control?.stop();
  await controlBus?.close();
  await host?.drain();
  await bus?.close();
  await nats?.stop();
});

function make(record: ComputerRecord | undefined): ComputerObject {
  if (!record) throw new Error('control sends the record that it has written');
  made.push(record);
  const limits = { idleStopMs: 1, maxLifetimeMs: 1 };
  return toComputerObject(record, { limits, cost: 0, hostSilent: false });
}

const heartbeat = (id: string, cpuUsed: number): HostHeartbeat => ({
  ...{ id, at: new Date().toISOString() },
  ...{ cpu_total: 8, cpu_used: cpuUsed, memory_mb_total: 16_384, memory_mb_used: 0, computers: 0 },
  ...{ disk_mb_free: null, disk_mb_free_min: null, image_ready: true, image_progress: null },
  ...{ refuses: null, cordoned: false },
});

async function announce(id: string, { cpuUsed }: { cpuUsed: number }): Promise<void> {
  await (await openBucket(bus, 'hosts')).put(id, heartbeat(id, cpuUsed));
}

async function minuteOf(markup: Partial<typeof MARKUP>) {
  const body = { cpu: 2, memory_mb: 1_536 };
  await request(bus, 'computers.create', {
    ...{ org: 'org_a', key_id: 'key_a', body, limited: false },
    ...markup,
  });
  const { org, id } = made.at(-1) ?? { org: '', id: '' };
  // Control's rates for a minute, whatever its host says.
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

describe('when the host that is asked first refuses,', () => {
  const idle = newId('host');
  let refusal: ServiceError;
  const imageUnavailable = (reason: string) =>
    new ServiceError('image_unavailable', 'no image', { details: { reason } });
  const create = () =>
    request(bus, 'computers.create', { org: 'org_a', key_id: 'key_a', body: {}, limited: false });
  const outcome = () =>
    create().then(
      () => 'made',
      ({ code }) => code,
    );

  beforeAll(async () => {
    host.handleHost(idle, 'create', async () => {
      throw refusal;
    });
    await announce(idle, { cpuUsed: 0 });
    refusal = imageUnavailable('not_found');
    // Control has heard of it.
    await vi.waitFor(async () => expect(await outcome()).toBe(refusal.code), { timeout: 60_000 });
  });
  afterAll(async () => (await openBucket(bus, 'hosts')).delete(idle));

  test.each([
    ['it is full', new ServiceError('no_capacity', 'full')],
    ['its engine is broken', new ServiceError('computer_failed', 'no container')],
    ['its disk has no room for the image', imageUnavailable('no_room')],
    ['the registry limits its requests', imageUnavailable('rate_limited')],
  ])('as %s, the next one makes the computer', async (_why, error) => {
    refusal = error;
    const { id } = await create();
    expect(made.at(-1)).toMatchObject({ id, host: hostId });
  });

  test('as there is no such image, the next one is not asked', async () => {
    refusal = imageUnavailable('not_found');
    const before = made.length;
    await expect(create()).rejects.toMatchObject({ code: 'image_unavailable' });
    expect(made).toHaveLength(before);
  });

  test('and a second one fails too, no third one is asked', async () => {
    refusal = new ServiceError('computer_failed', 'no container');
    const other = newId('host');
    host.handleHost(other, 'create', async () => {
      throw refusal;
    });
    await announce(other, { cpuUsed: 0 });
    // The third one has the highest load. Until control has heard of the second one, it is the second.
    await expect.poll(outcome).toBe('computer_failed');
    await (await openBucket(bus, 'hosts')).delete(other);
  });
});

test('a creation that goes on to another host keeps its slot, however long the first host took', async () => {
  const clock = new FakeClock();
  const records = new PlacedRecords({
    placements: await openBucket(bus, 'computer-placements'),
    computers: await openBucket(bus, 'computers'),
  });
  const bucket = await openBucket(bus, 'computer-slots');
  const other = new Slots({ slots: bucket, records, clock });
  const remove = records.remove.bind(records);
  records.remove = async (record) => {
    await remove(record);
    await other.freeEmpty(record.org); // another instance sweeps just then
  };
  const beats = [newId('host'), newId('host')].map((key) => {
    return { key, value: heartbeat(key, 0), revision: 1 };
  });
  const create = createComputer({
    ...{ bus, records, slots: new Slots({ slots: bucket, records, clock }), clock, logger, random: () => 0 },
    hosts: new Hosts({ entries: () => beats, ageMs: () => 0, onChange: () => () => {} }, clock),
    minutes: await openBucket(bus, 'computer-minutes'),
    events: { publish: async () => {} },
    limits: toComputerLimits(readConfig(controlConfig, {})),
    offReason: null,
  });
  const asked: string[] = [];
  const { id } = await create(
    { org: 'org_slow', key_id: 'key_a', body: {}, limited: false },
    { signal: new AbortController().signal },
    async (hostAsked, { made: sent }) => {
      if (asked.push(hostAsked) === 2) return make(sent?.record);
      clock.advance(SLOT_EMPTY_MS_MAX + 1);
      throw new ServiceError('no_capacity', 'full');
    },
  );
  expect(new Set(asked).size).toBe(2);
  expect(Object.keys((await bucket.get('org_slow'))?.value ?? {})).toEqual([id]);
});
