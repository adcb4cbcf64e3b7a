// Batches of messages from a real stream.
import { AckPolicy, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { type Bus, connectBus } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Arrivals } from './arrivals.ts';

const BATCH_MAX = 50;
/** Longer than the test, so that no pull ends by itself: the test counts requested messages. */
const PULL_MS = 60_000;

let server: TestServer;
let bus: Bus;
beforeAll(async () => {
  server = await startNats();
  bus = await connectBus({ url: server.url, service: 'test', logger: makeLogger('test', 'silent') });
});
afterAll(async () => {
  await bus?.close();
  await server?.stop();
});

async function consumerOf(stream: string, messages: number): Promise<Consumer> {
  await bus.jsm.streams.add({ name: stream, subjects: [stream] });
  await bus.jsm.consumers.add(stream, { durable_name: 'one', ack_policy: AckPolicy.Explicit });
  await publish(stream, 0, messages);
  return bus.js.consumers.get(stream, 'one');
}

async function publish(stream: string, first: number, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => bus.js.publish(stream, String(first + i))));
}

function arrivalsOf(
  consumer: Consumer,
  { onPull = () => {}, collectMs = 0 }: { onPull?: (messages: number) => void; collectMs?: number } = {},
): Arrivals {
  return new Arrivals({
    pull: (max_messages) => {
      onPull(max_messages);
      return consumer.fetch({ max_messages, expires: PULL_MS });
    },
    batchMax: BATCH_MAX,
    collectMs,
  });
}

async function take(arrivals: Arrivals, count: number): Promise<JsMsg[][]> {
  const batches: JsMsg[][] = [];
  for (let taken = 0; taken < count; ) {
    const batch = await arrivals.next();
    if (!batch) throw new Error('no more batches');
    for (const message of batch) message.ack();
    batches.push(batch);
    taken += batch.length;
  }
  return batches;
}

function numbersOf(batches: readonly JsMsg[][]): number[] {
  return batches.flat().map((message) => Number(message.string()));
}

test('a flood arrives in order, each message once, in batches of at most the maximum size', async () => {
  const arrivals = arrivalsOf(await consumerOf('flood', 600));
  const batches = await take(arrivals, 600);
  expect(numbersOf(batches)).toEqual(Array.from({ length: 600 }, (_, i) => i));
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(BATCH_MAX);
  expect(await arrivals.stop()).toEqual([]);
  expect(await arrivals.next()).toBeNull();
});

test('messages are requested before the buffer is empty, at most two batches ahead', async () => {
  let asked = 0;
  const consumer = await consumerOf('ahead', 600);
  const onPull = (messages: number) => {
    asked += messages;
  };
  const arrivals = arrivalsOf(consumer, { onPull });
  let taken = 0;
  while (taken < 600) {
    taken += (await take(arrivals, 1)).flat().length;
    expect(asked - taken).toBeGreaterThan(0);
    expect(asked - taken).toBeLessThanOrEqual(2 * BATCH_MAX);
  }
  await arrivals.stop();
});

/** Longer than the test. */
const NEVER_MS = 600_000;

test('a full or hurried batch is handed out before its collecting time is over', async () => {
  const arrivals = arrivalsOf(await consumerOf('collected', BATCH_MAX + 1), { collectMs: NEVER_MS });
  expect(numbersOf(await take(arrivals, 1))).toHaveLength(BATCH_MAX);
  const rest = take(arrivals, 1);
  await publish('collected', BATCH_MAX + 1, 1);
  const hurrying = setInterval(() => arrivals.hurry(), 20); // as a waiting reader does
  const first = numbersOf(await rest);
  const second = first.length === 2 ? [] : numbersOf(await take(arrivals, 1));
  clearInterval(hurrying);
  expect([...first, ...second]).toEqual([BATCH_MAX, BATCH_MAX + 1]);
  await arrivals.stop();
});

test('messages that arrive within the collecting time form one batch', async () => {
  const consumer = await consumerOf('together', 1);
  const arrivals = arrivalsOf(consumer, { collectMs: NEVER_MS });
  const batch = take(arrivals, 1);
  await publish('together', 1, 1);
  await expect.poll(async () => (await consumer.info()).delivered.consumer_seq).toBe(2);
  await bus.nc.flush(); // both are in this process
  const hurrying = setInterval(() => arrivals.hurry(), 20);
  expect(numbersOf(await batch)).toEqual([0, 1]);
  clearInterval(hurrying);
  await arrivals.stop();
});

test('a lone message is handed out, and a renewed pull loses no message', async () => {
  const arrivals = arrivalsOf(await consumerOf('lone', 1));
  expect(numbersOf(await take(arrivals, 1))).toEqual([0]);
  arrivals.renew();
  await publish('lone', 1, 1);
  expect(numbersOf(await take(arrivals, 1))).toEqual([1]);
  await arrivals.stop();
});

test('stop returns the messages that were not handed out, also to a second caller', async () => {
  const consumer = await consumerOf('rest', 40);
  const arrivals = arrivalsOf(consumer);
  const first = await arrivals.next();
  void arrivals.stop(); // as a signal does
  const rest = await arrivals.stop();
  for (const message of [...(first ?? []), ...rest]) message.nak();
  const again = arrivalsOf(consumer);
  expect(numbersOf(await take(again, 40)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 40 }, (_, i) => i),
  );
  await again.stop();
});

test('the error of a pull is thrown after the messages that arrived', async () => {
  const arrivals = new Arrivals({
    pull: () => Promise.reject(new Error('no link')),
    batchMax: BATCH_MAX,
    collectMs: 0,
  });
  await expect(arrivals.next()).rejects.toThrow('no link');
  await arrivals.stop();
});
