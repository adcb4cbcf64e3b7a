import { EVENTS_STREAM, makeEvent } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, connectBus } from './bus.ts';
import { openEventReader } from './event-reader.ts';
import { ensureEventsStream, publishEvent } from './events.ts';

/** Less than the half minute after which the client asks a silent consumer again. */
const SILENCE_MS_MAX = 20_000;

let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'edge', logger: makeLogger('test', 'silent') });
  await ensureEventsStream(bus);
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

async function emit(n: number): Promise<string> {
  const data = { key_id: `key_${n}`, org: 'org_a', by_key_id: null };
  const id = `key_${n}:created`;
  const event = makeEvent({ name: 'key.created', id, source: '/test', time: new Date(), data });
  await expect.poll(() => publishEvent(bus, event)).toBeDefined();
  return id;
}

test('every event is read once and soon after a restart of the server', async () => {
  const subjects = ['event.v1.*.*.org_a'];
  const reader = await openEventReader(bus, { stream: EVENTS_STREAM, subjects, after: 0 });
  const read: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const message of reader.messages) read.push(message.event()?.id);
  })();
  const emitted = [await emit(1)];
  await expect.poll(() => read).toEqual(emitted);
  await nats.restart();
  for (let n = 2; n <= 5; n++) {
    emitted.push(await emit(n));
    await expect.poll(() => read, { timeout: SILENCE_MS_MAX }).toEqual(emitted);
  }
  reader.stop();
  await reading;
  await expect.poll(() => bus.jsm.consumers.list(EVENTS_STREAM).next()).toEqual([]);
});
