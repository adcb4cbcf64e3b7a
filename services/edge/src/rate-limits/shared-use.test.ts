// Three edges share limits over a real nats-server. Each has a clock of its own, hours apart from the others.
import { type Bus, connectBus } from '@switchyard/bus';
import { RATE_LIMITS_SUBJECTS } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ECHO_MS_MAX, LEASE_MS, RENEW_MS, type Share, SharedUse } from './shared-use.ts';
import { SLOT_MS, WINDOW_MS } from './sliding-window.ts';

const HOUR_MS = 3_600_000;
const logger = makeLogger('edge', 'silent');

interface Edge {
  readonly bus: Bus;
  readonly clock: FakeClock;
  readonly use: SharedUse;
}

let nats: TestServer;
let edges: Edge[];
let one: Edge;
let two: Edge;

beforeEach(async () => {
  nats = await startNats();
  edges = await Promise.all(
    [0, -7, 5].map(async (hours) => {
      const bus = await connectBus({ url: nats.url, service: 'edge', logger });
      const clock = new FakeClock(Date.now() + hours * HOUR_MS);
      return { bus, clock, use: new SharedUse({ bus, clock, logger }) };
    }),
  );
  [one, two] = edges as [Edge, Edge];
  await Promise.all(edges.map(({ bus }) => bus.nc.flush()));
});
afterEach(async () => {
  for (const { use, bus } of edges) {
    await use.close();
    await bus.close();
  }
  await nats.stop();
});

const requests = (limit: number, amount = 1): Share[] => [
  { name: 'requests/key_a', unit: 'window', amount, limit },
];
const calls = (limit: number): Share[] => [{ name: 'calls/key_a', unit: 'gauge', amount: 1, limit }];
const advance = (ms: number) => {
  for (const { clock } of edges) clock.advance(ms);
};
/** Resolves when every edge has seen all messages so far. */
const seen = async () => {
  for (const { bus } of edges) await bus.nc.flush();
  for (const { bus } of edges) await bus.nc.flush();
};

/** How many of these concurrent takes, spread over the edges, were admitted. */
async function flood(shares: Share[], times: number): Promise<number> {
  const asked = Array.from({ length: times }, (_, i) => edges[i % edges.length]?.use.take(shares));
  return (await Promise.all(asked)).filter((exceeded) => exceeded === null).length;
}

test.each([1, 10, 60, 600])('%d a minute hold exactly for a flood of takes on three edges', async (limit) => {
  expect(await flood(requests(limit), 3 * limit + 30)).toBe(limit);
  expect(await flood(requests(limit), 30)).toBe(0);
  await seen();
  advance(WINDOW_MS + SLOT_MS);
  expect(await flood(requests(limit), 3 * limit)).toBe(limit);
});

test('takes over several minutes stay within the limit in each minute, on every edge', async () => {
  const admitted: number[] = [];
  const limit = 40;
  for (let now = 0; now < 3 * WINDOW_MS; now += 1_000) {
    const edge = edges[Math.floor(now / 7_000) % 3] ?? one;
    for (let i = 0; i < 2; i++) if ((await edge.use.take(requests(limit))) === null) admitted.push(now);
    await seen();
    advance(1_000);
  }
  for (const from of admitted) {
    const inMinute = admitted.filter((at) => at >= from && at < from + WINDOW_MS);
    expect(inMinute.length).toBeLessThanOrEqual(limit);
  }
  expect(admitted.length).toBeGreaterThan(3 * limit * 0.9);
});

test('a take of several limits takes all or none', async () => {
  const both = [...requests(5), { name: 'requests/org_a', unit: 'window', amount: 1, limit: 2 } as const];
  expect(await flood(both, 9)).toBe(2);
  await seen();
  expect(one.use.leftOf(requests(5)[0] as Share).remaining).toBe(3);
});

test('an estimate is replaced by what was used, on all edges', async () => {
  const tokens = requests(1_000, 600);
  expect(await one.use.take(tokens)).toBeNull();
  await seen();
  expect(await two.use.take(tokens)).toMatchObject({ name: 'requests/key_a' });
  one.clock.advance(10_000);
  one.use.correct(tokens, 100, 10_000);
  await seen();
  expect(two.use.leftOf(tokens[0] as Share).remaining).toBe(900);
  expect(await two.use.take(tokens)).toBeNull();
  two.use.correct(tokens, 900, 0);
  await seen();
  expect(one.use.leftOf(tokens[0] as Share).remaining).toBe(0);
});

test('the limit of open calls holds over three edges, and a call that ends makes room', async () => {
  expect(await one.use.take(calls(4))).toBeNull();
  expect(await flood(calls(4), 20)).toBe(3);
  await seen();
  expect(await flood(calls(4), 20)).toBe(0);
  one.use.release(calls(4));
  await seen();
  expect(await two.use.take(calls(4))).toBeNull();
  expect(await two.use.take(calls(4))).toMatchObject({ name: 'calls/key_a' });
});

test('open calls of an edge count while the edge reports them, and a lease longer', async () => {
  expect(await one.use.take(calls(1))).toBeNull();
  await seen();
  const isFree = async () => (await two.use.take(calls(1))) === null;
  for (let ms = 0; ms < 2 * LEASE_MS; ms += RENEW_MS) {
    const told = new Promise<void>((resolve) => {
      const heard = two.bus.nc.subscribe(RATE_LIMITS_SUBJECTS, { max: 1, callback: () => resolve() });
      void heard.closed;
    });
    await two.bus.nc.flush();
    advance(RENEW_MS);
    await told;
  }
  expect(await isFree()).toBe(false);
  two.clock.advance(LEASE_MS + 1); // the other edge died
  expect(await isFree()).toBe(true);
});

test('without NATS each edge holds the limit by its own count', async () => {
  expect(await flood(requests(10), 6)).toBe(6);
  await seen();
  await nats.kill9();
  await expect.poll(() => edges.some(({ bus }) => bus.connected)).toBe(false);
  const alone = await Promise.all(Array.from({ length: 9 }, () => one.use.take(requests(10))));
  expect(alone.filter((exceeded) => exceeded === null)).toHaveLength(4);
});

test('a message that does not come back in time is not waited for, and is counted once', async () => {
  const { promise: blocked, resolve } = Promise.withResolvers<void>();
  const { publish } = one.bus.nc;
  one.bus.nc.publish = () => resolve(); // lost on its way
  const taking = one.use.take(requests(2));
  await blocked;
  one.bus.nc.publish = publish;
  one.clock.advance(ECHO_MS_MAX);
  expect(await taking).toBeNull();
  expect(one.use.leftOf(requests(2)[0] as Share).remaining).toBe(1);
});

test('a step of the wall clock changes nothing', async () => {
  expect(await flood(requests(3), 3)).toBe(3);
  await seen();
  one.clock.step(HOUR_MS);
  two.clock.step(-HOUR_MS);
  expect(await flood(requests(3), 9)).toBe(0);
});
