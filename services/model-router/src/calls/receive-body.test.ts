import { type Bus, connectBus, type IncomingCall, type OutgoingCall, serve } from '@switchyard/bus';
import type { ModelCallHead, ServiceError } from '@switchyard/contracts';
import { ByteBudget, makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { receiveBody } from './receive-body.ts';

const MIB = 1024 * 1024;
const SUBJECT = 'router.v1.body';
const OTHERS = { org: 'org_a', signal: new AbortController().signal };
/** One org may hold half of the budget. */
const BUDGET_BYTES = 40 * MIB;

let nats: TestServer;
let edge: Bus;
let router: Bus;
let clock: FakeClock;
let budget: ByteBudget;

beforeAll(async () => {
  nats = await startNats();
  const logger = makeLogger('test', 'silent');
  edge = await connectBus({ url: nats.url, service: 'edge', logger });
  router = await connectBus({ url: nats.url, service: 'router', logger });
  const service = await serve(router, { name: 'router', version: '0.0.1', description: 'of a test' });
  service.stream(SUBJECT, answer);
  await router.nc.flush();
});
beforeEach(() => {
  clock = new FakeClock();
  budget = new ByteBudget({ bytesMax: BUDGET_BYTES, clock });
});
afterAll(async () => {
  await edge?.close();
  await router?.close();
  await nats?.stop();
});

/** Answers with the body's length, and gives its place back. */
async function answer(call: IncomingCall): Promise<void> {
  const body = await receiveBody(call, call.head as ModelCallHead, budget);
  call.end({ bytes: body.bytes.length, held: budget.held });
  body.memory?.release();
}

/** A call whose body counts how much of it was read. */
function send(bytes: number, { stated = bytes, org = 'org_a' } = {}) {
  const sent = { bytes: 0 };
  async function* body() {
    yield Buffer.alloc(0);
    for (; sent.bytes < bytes; sent.bytes += Math.min(MIB, bytes - sent.bytes))
      yield Buffer.alloc(Math.min(MIB, bytes - sent.bytes));
  }
  const outcome = Promise.withResolvers<unknown>();
  outcome.promise.catch(() => {});
  const call: OutgoingCall = edge.call(
    { subject: SUBJECT, head: { org, body_bytes: stated }, body: body() },
    {
      onHead: () => {},
      onData: () => {},
      onEnd: (end) => outcome.resolve(end),
      onError: (error: ServiceError) => outcome.reject(error),
    },
  );
  return { call, sent, outcome: outcome.promise };
}

describe('a large body', () => {
  test('holds memory while in use, and releases it', async () => {
    expect(await send(5 * MIB).outcome).toEqual({ bytes: 5 * MIB, held: 10 * MIB });
    expect(budget.held).toBe(0);
  });

  test('is not read before there is room for it', async () => {
    const held = await budget.take(12 * MIB, OTHERS);
    const waiting = send(5 * MIB);
    await expect.poll(() => budget.waiting).toBe(1);
    await edge.nc.flush();
    expect(waiting.sent.bytes).toBe(0);
    held.release();
    expect(await waiting.outcome).toMatchObject({ bytes: 5 * MIB });
  });

  test('of one org does not wait for the bodies of another', async () => {
    await budget.take(20 * MIB, OTHERS);
    send(5 * MIB);
    await expect.poll(() => budget.waiting).toBe(1);
    expect(await send(5 * MIB, { org: 'org_b' }).outcome).toMatchObject({ bytes: 5 * MIB });
    expect(budget.waiting).toBe(1);
  });

  test('leaves the queue when its caller leaves', async () => {
    await budget.take(20 * MIB, OTHERS);
    const { call } = send(5 * MIB);
    await expect.poll(() => budget.waiting).toBe(1);
    call.cancel();
    await expect.poll(() => budget.waiting).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  test.each([
    ['longer', 5 * MIB, 4 * MIB],
    ['shorter', 4 * MIB, 5 * MIB],
  ])('that is %s than its header says is refused, and its memory is released', async (_, bytes, stated) => {
    await expect(send(bytes, { stated }).outcome).rejects.toMatchObject({ code: 'internal_error' });
    expect(budget.held).toBe(0);
  });
});

test('a small body reserves no memory', async () => {
  await budget.take(20 * MIB, OTHERS);
  expect(await send(MIB).outcome).toMatchObject({ bytes: MIB });
});
