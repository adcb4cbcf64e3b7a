// Answers about money, when the stream or the ledger fails around an event.
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { UsageQuery } from '@switchyard/contracts';
import { Lock, Locks, systemClock } from '@switchyard/service';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Accounts } from '../accounts/accounts.ts';
import { completed, ORG } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { ONLY_PARTITION } from '../partitions/partition.ts';
import { Progress } from '../progress.ts';
import type { BillingDeps } from '../register.ts';
import { DatabaseSilent } from '../store/answered.ts';
import { creditsCreate } from './credits.ts';
import { refundsCreate } from './refunds-create.ts';
import { statementsGet, statementsList } from './statements.ts';
import { usageGet } from './usage-get.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  const billing = await installation.startBilling(); // makes the stream and its consumers
  await installation.client.publish(completed('req_paid', 10n));
  await installation.client.usage({});
  await billing.stop();
});
afterEach(() => vi.restoreAllMocks());

afterAll(() => installation?.stop());

const deps = () =>
  ({
    ...{ bus: installation.client.bus, partition: ONLY_PARTITION, progress: new Progress() },
    ...{ store: installation.database.store, clock: systemClock },
  }) as BillingDeps;
const reporting = () => ({ ...deps(), reports: new Locks() });
const grant = () =>
  creditsCreate({ org: ORG, key_id: 'key_1', body: { amount: 5, reason: 'payment' } }, deps(), 500);
const refund = (store = deps().store, withinMs?: number) => {
  const body = { request_id: 'req_paid', amount: 0.000000004, reason: 'test' };
  return refundsCreate(
    { org: ORG, key_id: 'key_1', refund_id: 'rfd_1', body },
    { ...deps(), store },
    withinMs,
  );
};
const CAUGHT_UP = { ack_floor: { stream_seq: Number.MAX_SAFE_INTEGER } } as ConsumerInfo;
const NEVER = new Promise<never>(() => {});

test.each([
  ['cannot be asked for it', () => Promise.reject(new Error('unavailable'))],
  ['never answers', () => NEVER],
])('a credit that is stored is granted, although the ledger %s', async (_, answer) => {
  const { jsm } = installation.client.bus;
  const asked = vi.spyOn(jsm.consumers, 'info').mockImplementation(answer);
  expect(await grant()).toMatchObject({ object: 'credit', amount: 5 });
  expect(asked).toHaveBeenCalled();
});

test('a credit that the stream does not confirm may be granted: the error says where to look before a repeat', async () => {
  vi.spyOn(installation.client.bus.js, 'publish').mockRejectedValue(new Error('late'));
  await expect(grant()).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('GET /v1/credits'),
    retryAfterS: undefined,
  });
});

test.each([
  [
    'the stream does not confirm',
    () => vi.spyOn(installation.client.bus.js, 'publish').mockRejectedValue(new Error('late')),
  ],
  [
    'is stored while the ledger cannot be asked for it',
    () => afterStored(() => Promise.reject(new Error('unavailable'))),
  ],
  ['is stored while the ledger never answers', () => afterStored(() => NEVER), 10_000],
])(
  'a refund that %s may exist: the error says where to look before a repeat',
  async (_, fail, withinMs?: number) => {
    fail();
    await expect(refund(undefined, withinMs)).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('/v1/logs'),
      retryAfterS: undefined,
    });
  },
);

/** Billing has caught up until an event is stored; then its consumer answers as given. */
function afterStored(answer: () => Promise<ConsumerInfo>): void {
  const { js, jsm } = installation.client.bus;
  const publish = js.publish.bind(js);
  const asked = vi.spyOn(jsm.consumers, 'info').mockResolvedValue(CAUGHT_UP);
  vi.spyOn(js, 'publish').mockImplementation(async (...message) => {
    const ack = await publish(...message);
    asked.mockImplementation(answer);
    return ack;
  });
}

test('a refund whose time is over before its event is published is not made later', async () => {
  const { js, jsm } = installation.client.bus;
  const published = vi.spyOn(js, 'publish');
  const [stalled, read] = [Promise.withResolvers<ConsumerInfo>(), Promise.withResolvers<void>()];
  vi.spyOn(jsm.consumers, 'info').mockReturnValue(stalled.promise);
  const { store } = installation.database;
  const ledger = Object.assign(Object.create(store.ledger) as typeof store.ledger, {
    find: (...query: Parameters<typeof store.ledger.find>) => {
      const rows = store.ledger.find(...query);
      const toArray = rows.toArray.bind(rows);
      rows.toArray = () => toArray().finally(() => setImmediate(read.resolve)); // after what follows the last read
      return rows;
    },
  });
  await expect(refund({ ...store, ledger }, 100)).rejects.toBeInstanceOf(DatabaseSilent);
  stalled.resolve(CAUGHT_UP);
  await read.promise;
  expect(published).not.toHaveBeenCalled();
});

test('usage is not answered from sums that miss rows of the ledger', async () => {
  const asked = usageGet({ org: ORG, key_id: 'key_1', query: {} }, reporting(), new AbortController().signal);
  await expect(asked).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
});

test('an org gets one report at a time that adds up rows of the ledger, and other reports meanwhile', async () => {
  const { store } = installation.database;
  let open = 0;
  const opened: number[] = [];
  const gate = Promise.withResolvers<void>();
  async function* rows() {
    opened.push(++open);
    await gate.promise;
    open -= 1;
    yield* [];
  }
  const ledger = Object.assign(Object.create(store.ledger) as typeof store.ledger, { find: () => rows() });
  const all = { ...reporting(), store: { ...store, ledger } };
  all.progress.recovered();
  const report = (org: string, query: UsageQuery, signal = new AbortController().signal) =>
    usageGet({ org, key_id: 'key_1', query }, all, signal);
  const gone = new AbortController();
  const asked = [report(ORG, { group_by: 'tag:team' })];
  await expect.poll(() => opened).toEqual([1]);
  asked.push(report(ORG, { interval: 'minute' }));
  const late = report(ORG, { group_by: 'tag:team' }, gone.signal);
  asked.push(report('org_other', { group_by: 'tag:team' }));
  await expect.poll(() => opened).toEqual([1, 2]);
  const day = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' };
  expect((await report(ORG, day)).total.cost).toBe(0.00000001);
  expect(opened).toEqual([1, 2]);
  gone.abort(new Error('the caller is gone'));
  gate.resolve();
  await Promise.all([...asked, expect(late).rejects.toThrow('the caller is gone')]);
  expect(opened).toEqual([1, 2, 1]);
});

test.each([
  ['of a month', statementsGet],
  ['in the list', statementsList],
])('booking does not wait while a statement %s is read', async (_, ask) => {
  const { store } = installation.database;
  const { lines } = store.aggregates;
  const [opened, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = Object.assign(Object.create(lines) as typeof lines, {
    aggregate: (...pipeline: Parameters<typeof lines.aggregate>) => ({
      async toArray() {
        opened.resolve();
        await gate.promise;
        return lines.aggregate(...pipeline).toArray();
      },
    }),
  });
  const lock = new Lock();
  const all = {
    ...{ ...deps(), accounts: { lock } as Accounts },
    store: { ...store, aggregates: { ...store.aggregates, lines: slow } },
  };
  all.progress.recovered();
  // A later month where the one of the call had closed before it was booked.
  const month = (await store.ledger.findOne({ _id: 'req_paid' }))?.month ?? '';
  const asked = { org: ORG, key_id: 'key_1', month, query: {} };
  const read = ask(asked, all, new AbortController().signal);
  await opened.promise;
  expect(await lock.run(() => 'booked')).toBe('booked');
  gate.resolve();
  expect(JSON.stringify(await read)).toContain('"total":1e-8');
});
