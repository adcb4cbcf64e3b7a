// The queue of the events of computer hosts, over a real nats-server without anything that empties it.
import { type Event, eventSubjectOfHost, HOST_EVENTS_STREAM } from '@switchyard/contracts';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { usageEvent } from './__fixtures__/usage-event.ts';
import { publishEvent } from './events.ts';
import { type Bus, connectBus, ensureEventsStream } from './index.ts';

const AT_ONCE = 1_000;
const EVENTS_MAX = 11_000;

let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: pino({ level: 'silent' }) });
  await ensureEventsStream(bus);
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

const publish = (host: string, bytes = 100) =>
  bus.js.publish(eventSubjectOfHost(host), 'x'.repeat(bytes), { timeout: 60_000 });
const stored = async () => (await bus.jsm.streams.info(HOST_EVENTS_STREAM)).state.messages;

test('a host that fills its part of the queue takes no room from another one', async () => {
  for (let sent = 0; sent < EVENTS_MAX; sent += AT_ONCE)
    await Promise.allSettled(Array.from({ length: AT_ONCE }, () => publish('host_thief')));
  const before = await stored();
  expect(before).toBe(10_000);
  await expect(publish('host_thief')).rejects.toThrow('maximum messages per subject');
  await publish('host_a');
  expect(await stored()).toBe(before + 1);
});

test('an event of a host has a bounded size, so that no host can fill the queue with large ones', async () => {
  await expect(publish('host_a', 33_000)).rejects.toThrow('message size exceeds maximum');
});

test('a host that sends the id of another host’s event first does not keep that event out', async () => {
  const event = usageEvent('cmp_x:1:0');
  await bus.js.publish(eventSubjectOfHost('host_b'), '{}', { msgID: event.id });
  const { seq } = await publishEvent(bus, event, { host: 'host_a' });
  const kept = await bus.jsm.streams.getMessage(HOST_EVENTS_STREAM, { seq });
  expect(kept?.subject).toBe(eventSubjectOfHost('host_a'));
  expect(kept?.json<Event>()).toEqual(event);
});
