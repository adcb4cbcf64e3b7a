// Messages of a real stream, handed out in batches.
import { AckPolicy, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { type Bus, connectBus } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Arrivals } from './arrivals.ts';

const BATCH_MAX = 50;
/** None ends by itself: what it asked for is counted. */
const PULL_MS = 60_000;
/** What was on its way to a pull that ended comes again when the server has waited for it, which is half a minute. */

let server: TestServer;
let bus: Bus;
beforeAll(async () => {
  server = await startNats();
  bus = await connectBus({ url: server.url, service: 'test', logger: makeLogger('test', 'silent') });
}, 60_000);
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

function arrivalsOf(consumer: Consumer, onPull: (messages: number) => void = () => {}): Arrivals {
  return new Arrivals({
    pull: (max_messages) => {
      onPull(max_messages);
      return consumer.fetch({ max_messages, expires: PULL_MS });
    },
    batchMax: BATCH_MAX,
  });
}

async function take(arrivals: Arrivals, count: number): Promise<JsMsg[][]> {
  const batches: JsMsg[][] = [];
  for (let taken = 0; taken < count; ) {
    const batch = await arrivals.next();
    if (!batch) throw new Error('it is over');
    for (const message of batch) message.ack();
    batches.push(batch);
    taken += batch.length;
  }
  return batches;
}

function numbersOf(batches: readonly JsMsg[][]): number[] {
  return batches.flat().map((message) => Number(message.string()));
}

test('a flood comes in order, each message once, in batches of at most their size', async () => {
  const arrivals = arrivalsOf(await consumerOf('flood', 600));
  const batches = await take(arrivals, 600);
  expect(numbersOf(batches)).toEqual(Array.from({ length: 600 }, (_, i) => i));
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(BATCH_MAX);
  expect(await arrivals.stop()).toEqual([]);
  expect(await arrivals.next()).toBeNull();
});

test('more is asked for before what has come is used up, and no more than that', async () => {
  let asked = 0;
  const consumer = await consumerOf('ahead', 600);
  const arrivals = arrivalsOf(consumer, (messages) => {
    asked += messages;
  });
  let taken = 0;
  while (taken < 600) {
    taken += (await take(arrivals, 1)).flat().length;
    expect(asked - taken).toBeGreaterThan(0);
    expect(asked - taken).toBeLessThanOrEqual(2 * BATCH_MAX);
  }
  await arrivals.stop();
});

test('a lone message waits for no other, and what comes to a pull that is renewed is not lost', async () => {
  const arrivals = arrivalsOf(await consumerOf('lone', 1));
  expect(numbersOf(await take(arrivals, 1))).toEqual([0]);
  arrivals.renew();
  await publish('lone', 1, 1);
  expect(numbersOf(await take(arrivals, 1))).toEqual([1]);
  await arrivals.stop();
});

test('what was not handed out is given back when it stops, whoever else has stopped it', async () => {
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

test('what a pull fails with is thrown, after what has come', async () => {
  const arrivals = new Arrivals({ pull: () => Promise.reject(new Error('no link')), batchMax: BATCH_MAX });
  await expect(arrivals.next()).rejects.toThrow('no link');
  await arrivals.stop();
});
