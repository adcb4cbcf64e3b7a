import { EVENTS_STREAM } from '@switchyard/contracts';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Bus, connectBus, ensureEventsStream, unbookedShare } from './index.ts';

const logger = pino({ level: 'silent' });
const BYTES_MAX = 100_000;
const HOUR_MS = 3_600_000;
const AGE_MAX_NS = 10 * HOUR_MS * 1e6;
/** Approximate size of each event: twenty events are half of the stream. */
const EVENT_BYTES = 2_400;

let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});
beforeEach(async () => {
  await bus.jsm.streams.delete(EVENTS_STREAM).catch(() => {});
  await ensureEventsStream(bus);
  await bus.jsm.streams.update(EVENTS_STREAM, { max_bytes: BYTES_MAX, max_age: AGE_MAX_NS });
});

async function store(events: number): Promise<void> {
  for (let i = 0; i < events; i += 1)
    await bus.js.publish('event.v1.computer.metered.org_x', 'x'.repeat(EVENT_BYTES));
}

async function book(consumer: string, events: number): Promise<void> {
  await bus.jsm.consumers.add(EVENTS_STREAM, { durable_name: consumer, ack_policy: 'explicit' });
  if (events === 0) return;
  const from = await bus.js.consumers.get(EVENTS_STREAM, consumer);
  for await (const message of await from.fetch({ max_messages: events })) await message.ackAck();
}

const shareNow = (laterMs = 0) => unbookedShare(bus, Date.now() + laterMs);

test('all stored events count before billing has run; booked events never count', async () => {
  expect(await shareNow()).toBe(0);
  await store(20);
  expect(await shareNow()).toBeGreaterThan(0.45);
  expect(await shareNow()).toBeLessThan(0.55);
  await book('billing-p0', 10);
  expect(await shareNow()).toBeCloseTo(0.25, 1);
  await book('billing-p0', 10);
  expect(await shareNow()).toBe(0);
});

test('the slowest partition counts; consumers that only follow the stream do not', async () => {
  await store(20);
  await book('billing-p0-e1', 20);
  await book('billing-p1-e1', 5);
  await book('webhook-wh_1-1', 0);
  expect(await shareNow()).toBeCloseTo(0.375, 1);
});

test('a stream full of booked events has all its room; one full of unbooked events has none', async () => {
  await store(60);
  await book('billing-p0', (await bus.jsm.streams.info(EVENTS_STREAM)).state.messages);
  expect(await shareNow()).toBe(0);
  await store(60);
  expect(await shareNow()).toBeGreaterThan(0.9);
});

test('the age of the oldest unbooked event counts against the maximum age of the stream', async () => {
  await store(2);
  expect(await shareNow(5 * HOUR_MS)).toBeCloseTo(0.5, 1);
  await book('billing-p0', 1);
  await bus.jsm.streams.deleteMessage(EVENTS_STREAM, 2);
  await store(1);
  expect(await shareNow(8 * HOUR_MS)).toBeCloseTo(0.8, 1);
  await book('billing-p0', 1);
  expect(await shareNow(20 * HOUR_MS)).toBe(0);
});

test('a stream without limits loses nothing', async () => {
  await bus.jsm.streams.update(EVENTS_STREAM, { max_bytes: -1, max_age: 0 });
  await store(20);
  expect(await shareNow(1_000 * HOUR_MS)).toBe(0);
});
