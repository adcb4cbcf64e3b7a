// Holds over a real nats-server; the test answers the requests to billing itself.
import { type Bus, connectBus, type ServiceHost, serve } from '@switchyard/bus';
import { type OperationRequest, type OperationResponse, ServiceError } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CallHold, HoldKeeper } from './hold-keeper.ts';

const logger = makeLogger('test', 'silent');
const NEVER_ABORTED = new AbortController().signal;

let nats: TestServer;
let bus: Bus;
let billing: ServiceHost;
let keeper: HoldKeeper;
type Granted = OperationResponse<'holds.take'>;
let answer: (request: OperationRequest<'holds.take'>) => Granted | Promise<Granted>;
const taken: OperationRequest<'holds.take'>[] = [];
const settled: OperationRequest<'holds.settle'>[] = [];
const takenByHost: OperationRequest<'host-holds.take'>[] = [];
const settledByHost: OperationRequest<'host-holds.settle'>[] = [];
const renewed: OperationRequest<'holds.renew'>['holds'][] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  billing = await serve(bus, { name: 'billing', version: '0.1.0', description: 'holds, as the test says' });
  billing.handle('holds.take', async (request) => {
    taken.push(request);
    return answer(request);
  });
  billing.handle('holds.settle', async (request) => {
    settled.push(request);
    return {};
  });
  billing.handle('host-holds.take', async (request) => {
    takenByHost.push(request);
    return { granted_nano: '50', capped: false };
  });
  billing.handle('host-holds.settle', async (request) => {
    settledByHost.push(request);
    return {};
  });
  billing.handle('holds.renew', async ({ holds }) => {
    renewed.push(holds);
    return {};
  });
});
afterAll(async () => {
  await billing.drain();
  await bus.close();
  await nats.stop();
});

beforeEach(() => {
  for (const list of [taken, settled, renewed]) list.length = 0;
  answer = ({ amount_nano }) => ({ granted_nano: amount_nano, capped: false });
  keeper = new HoldKeeper({ bus, logger });
});
afterEach(() => keeper.stop());

const open = (call: string): CallHold => keeper.open({ org: 'org_a', keyId: 'key_a', call });
let markers = 0;
/** Returns the calls of a renewal that started after all previous steps of the test: it contains a call opened here. */
async function nextRenewal(): Promise<string[]> {
  markers += 1;
  const marker = `req_marker_${markers}`;
  const hold = open(marker);
  await hold.take(1n, false, NEVER_ABORTED);
  const latest = () => (renewed.at(-1) ?? []).map(({ call }) => call);
  await expect.poll(latest).toContain(marker);
  const calls = latest();
  hold.settle(0n);
  return calls.filter((call) => !isMarker(call));
}
const isMarker = (call: string) => call.startsWith('req_marker_');
const settledCalls = () => settled.filter(({ call }) => !isMarker(call));

describe('a hold', () => {
  test('is renewed while its call runs, and released once with the actual cost', async () => {
    const [kept, over] = [open('req_kept'), open('req_over')];
    await Promise.all([kept.take(50n, false, NEVER_ABORTED), over.take(70n, true, NEVER_ABORTED)]);
    expect([over.granted, over.capped]).toEqual([70n, false]);
    expect(await nextRenewal()).toEqual(['req_kept', 'req_over']);
    over.settle(30n);
    over.settle(30n);
    expect(await nextRenewal()).toEqual(['req_kept']);
    expect(settledCalls()).toEqual([{ org: 'org_a', call: 'req_over', cost_nano: '30' }]);
  });

  test('that is taken again grows under the same name', async () => {
    const hold = open('req_more');
    await hold.take(50n, false, NEVER_ABORTED);
    await hold.take(80n, false, NEVER_ABORTED);
    expect(hold.granted).toBe(80n);
    expect(taken.map(({ call, amount_nano }) => [call, amount_nano])).toEqual([
      ['req_more', '50'],
      ['req_more', '80'],
    ]);
  });

  test('that is granted after its call ended is released at once', async () => {
    const hold = open('req_late');
    const taking = hold.take(50n, false, NEVER_ABORTED);
    hold.settle(0n);
    await taking;
    await expect.poll(settledCalls).toEqual([{ org: 'org_a', call: 'req_late', cost_nano: '0' }]);
  });
});

test.each([
  ['before', true],
  ['after', false],
])(
  'a call that ends %s its take is cancelled releases what billing may have granted',
  async (_, endsFirst) => {
    const late = Promise.withResolvers<Granted>();
    answer = () => late.promise;
    const gone = new AbortController();
    const hold = open('req_gone');
    const taking = hold.take(50n, false, gone.signal);
    await expect.poll(() => taken).toHaveLength(1);
    if (endsFirst) hold.settle(0n);
    gone.abort(new Error('the caller went away'));
    await expect(taking).rejects.toThrow();
    if (!endsFirst) hold.settle(0n);
    await expect.poll(settledCalls).toEqual([{ org: 'org_a', call: 'req_gone', cost_nano: '0' }]);
    late.resolve({ granted_nano: '50', capped: false });
  },
);

test('a call without limits is neither renewed nor settled', async () => {
  answer = () => ({ granted_nano: null, capped: false });
  const free = open('req_free');
  await free.take(50n, false, NEVER_ABORTED);
  answer = ({ amount_nano }) => ({ granted_nano: amount_nano, capped: false });
  await open('req_limited').take(1n, false, NEVER_ABORTED);
  expect(await nextRenewal()).toEqual(['req_limited']);
  free.settle(50n);
  expect(await nextRenewal()).toEqual(['req_limited']);
  expect(settledCalls()).toEqual([]);
});

test('a refusal is thrown to the caller, and nothing is held', async () => {
  answer = () => {
    throw new ServiceError('budget_exceeded', 'no');
  };
  const hold = open('req_refused');
  await expect(hold.take(50n, true, NEVER_ABORTED)).rejects.toMatchObject({ code: 'budget_exceeded' });
  hold.settle(0n);
  answer = ({ amount_nano }) => ({ granted_nano: amount_nano, capped: false });
  await open('req_other').take(1n, false, NEVER_ABORTED);
  expect(await nextRenewal()).toEqual(['req_other']);
  expect(settledCalls()).toEqual([]);
});

describe('work at an exact price', () => {
  const priced = (id: string, limited: true | undefined) => ({
    event: { id, data: { org: 'org_a', key_id: 'key_a', cost_nano: '50' } },
    limited,
    signal: NEVER_ABORTED,
  });
  const last = () => settledCalls().at(-1);

  test('holds the price while it runs, and then spends it', async () => {
    const held = await keeper.runWithHold(priced('req_done', true), async () => taken.at(-1));
    expect(held).toMatchObject({ call: 'req_done', amount_nano: '50', exact: true });
    await expect.poll(last).toMatchObject({ call: 'req_done', cost_nano: '50' });
  });

  test('that fails spends nothing', async () => {
    const failing = keeper.runWithHold(priced('req_fails', true), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    await expect.poll(last).toMatchObject({ call: 'req_fails', cost_nano: '0' });
  });

  test('is not done when the budget refuses it', async () => {
    answer = () => {
      throw new ServiceError('budget_exceeded', 'no');
    };
    let isDone = false;
    const work = async () => {
      isDone = true;
    };
    await expect(keeper.runWithHold(priced('req_refused', true), work)).rejects.toMatchObject({
      code: 'budget_exceeded',
    });
    expect(isDone).toBe(false);
  });

  test('holds nothing without a limit', async () => {
    expect(await keeper.runWithHold(priced('req_free', undefined), async () => 'done')).toBe('done');
    expect(taken).toEqual([]);
  });
});

test('a host sends only the ids of its minutes, no amount or key', async () => {
  const ofHost = new HoldKeeper({ bus, logger, host: 'host_a' });
  const hold = ofHost.open({ org: 'org_a', keyId: 'key_a', call: 'cmp_a:1:0' });
  await hold.take(50n, true, NEVER_ABORTED);
  hold.settle(50n);
  const minute = { host: 'host_a', org: 'org_a', call: 'cmp_a:1:0' };
  await expect.poll(() => settledByHost).toEqual([{ ...minute, spent: true }]);
  expect(takenByHost).toEqual([minute]);
  ofHost.stop();
});
