// The continuous check in a running billing: silent while the books are correct, also under traffic; otherwise an
// alarm, a metric and an answer of account.audit.
import { randomBytes } from 'node:crypto';
import { accountAudit, EVENTS_STREAM, RECEIPTS_STREAM } from '@switchyard/contracts';
import { Lock, makeLogger, systemClock } from '@switchyard/service';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ensureConsumer } from '../consumer.ts';
import { completed, mixedEvents, refused, videoCharged, voided } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import type { TestBilling } from '../fixtures/running-billing.ts';
import { ONLY_PARTITION } from '../partitions/partition.ts';
import { EVENTS_PER_CHECK_MAX } from './new-events.ts';
import { BATCHES_PER_CHECK_MAX, RECEIPTS_PER_CHECK_MAX } from './receipts-watch.ts';
import { BooksWatch } from './watch.ts';

const AUDIT_SECONDS = 0.5;
/** Generous limit for steps that take a second or two on an idle machine. */
const BUSY_MS = 60_000;

let installation: TestInstallation;
let billing: TestBilling;
const metrics = new Registry();

beforeAll(async () => {
  installation = await startInstallation();
  billing = await installation.startBilling({ auditSeconds: AUDIT_SECONDS, metrics });
});

afterAll(() => installation?.stop());

const auditOf = async (org: string) =>
  accountAudit.parse(await installation.client.ask('account.audit', { org, key_id: 'key_1' }));

async function metric(name: string): Promise<number> {
  const single = await metrics.getSingleMetric(`switchyard_billing_${name}`)?.get();
  return single?.values[0]?.value ?? Number.NaN;
}

/** Waits for a check that began after this call. */
async function nextLook(): Promise<void> {
  const seen = await metric('checked_at_seconds');
  for (let checks = 1, last = seen; checks <= 2; checks += 1)
    last = await vi.waitFor(
      async () => {
        const now = await metric('checked_at_seconds');
        if (!(now > (Number.isNaN(last) ? 0 : last))) throw new Error('no look yet');
        return now;
      },
      { timeout: BUSY_MS },
    );
}

test('correct books have no drift while events are booked', async () => {
  const org = 'org_right';
  const time = new Date();
  for (let i = 0; i < 5; i += 1)
    await installation.client.publish(
      ...mixedEvents(30, i),
      completed(`req_r${i}`, 1_000n, { org, time }),
      completed(`req_v${i}`, 1_000n, { org, time }),
      voided(`req_v${i}`, { org, time }),
      refused(`req_n${i}`, { org, time }),
      videoCharged(`vid_r${i}`, 500n, { org, time }),
    );
  await installation.client.caughtUp();
  await nextLook();
  expect([await metric('drift_dollars'), await metric('drifts')]).toEqual([0, 0]);
  await vi.waitFor(
    async () =>
      expect(await auditOf(org)).toMatchObject({
        ...{ org, ledger: 0.0000075, logs: 0.0000075, usage: 0.0000075, drift: 0, gapless: true },
      }),
    { timeout: BUSY_MS },
  );
  expect(await metric('ledger_rows')).toBe(await installation.database.store.ledger.countDocuments());
  await vi.waitFor(async () => expect(await metric('events_waiting')).toBe(0), { timeout: BUSY_MS });
});

test('an unknown org has sums of zero', async () => {
  expect(await auditOf('org_nobody')).toMatchObject({ ledger: 0, logs: 0, usage: 0, drift: 0 });
});

test('a log row or an aggregate that is off by a nano-dollar is a drift of that amount', async () => {
  const org = 'org_off';
  const { logs, aggregates } = installation.database.store;
  await installation.client.publish(completed('req_off', 1_000n, { org, time: new Date() }));
  await auditOf(org);
  await logs.updateOne({ _id: 'req_off' }, { $inc: { cost: 1n } });
  await vi.waitFor(async () => expect((await auditOf(org)).drift).toBe(1e-9), { timeout: BUSY_MS });
  expect(await metric('drift_dollars')).toBe(1e-9);
  await logs.updateOne({ _id: 'req_off' }, { $inc: { cost: -1n } });
  const hour = await aggregates.hours.findOne({ org, family: 'maker' });
  const [quarter] = Object.keys(hour?.quarters ?? {});
  const off = (by: bigint) =>
    aggregates.hours.updateOne({ _id: hour?._id ?? '' }, { $inc: { [`quarters.${quarter}.cost`]: by } });
  await off(-2n);
  await vi.waitFor(async () => expect((await auditOf(org)).drift).toBe(2e-9), { timeout: BUSY_MS });
  expect(await auditOf(org)).toMatchObject({ ledger: 0.000001, logs: 0.000001, usage: 0.000000998 });
  await off(2n);
  await vi.waitFor(async () => expect((await auditOf(org)).drift).toBe(0), { timeout: BUSY_MS });
  expect(await metric('drift_dollars')).toBe(0);
});

/** A separate watch on the running billing. */
function ownWatch(
  onAlarm: (fields: Record<string, unknown>) => void = () => {},
  { store = installation.database.store, lock = new Lock() } = {},
): BooksWatch {
  const logger = makeLogger('watch-test', 'silent');
  logger.error = onAlarm as typeof logger.error;
  return new BooksWatch({
    ...{
      bus: installation.client.bus,
      store,
      partition: ONLY_PARTITION,
      lock,
    },
    ...{ clock: systemClock, logger, everyMs: 0 },
  });
}

test('concurrent audits of an org delay booking by one check', async () => {
  const lock = new Lock();
  const held = vi.spyOn(lock, 'run');
  const watch = ownWatch(undefined, { lock });
  const checks = await Promise.all(Array.from({ length: 50 }, () => watch.org('org_right')));
  expect(held).toHaveBeenCalledTimes(1);
  expect(new Set(checks).size).toBe(1);
});

test('an org that cannot be checked does not block other checks', async () => {
  const lock = new Lock();
  const rows = (...orgs: string[]) =>
    orgs.map((org) => ({ org })) as unknown as Parameters<BooksWatch['booked']>[0];
  const watch = ownWatch(undefined, { lock });
  watch.booked(rows('org_away', 'org_right'));
  vi.spyOn(lock, 'run').mockRejectedValueOnce(new Error('the database did not answer'));
  await expect(watch.check()).rejects.toThrow('did not answer');
  expect(watch.state.checkedAt).not.toBeNull();
  const held = vi.spyOn(lock, 'run').mockClear();
  await watch.check();
  expect(held).toHaveBeenCalledTimes(2);
});

test('answers are looked up in the ledger: charges, videos, voids and refunds match', async () => {
  const org = 'org_told';
  const time = new Date();
  await installation.client.publish(
    completed('req_t1', 1_000n, { org, time }),
    completed('req_t2', 0n, { org, time }),
    voided('req_t3', { org, time }),
    completed('req_t3', 3_000n, { org, time }),
    completed('req_t4', 4_000n, { org, time }),
    voided('req_t4', { org, time }),
    completed('req_left', 5_000n, { org, time }), // has no receipt
    videoCharged('vid_t', 500n, { org, time }),
  );
  const watch = ownWatch();
  const answers: [string, bigint][] = [
    ...([1_000n, 0n, 3_000n, 4_000n].map((cost, i) => [`req_t${i + 1}`, cost]) as [string, bigint][]),
    ['vid_t:charge', 500n],
  ];
  await installation.client.publishReceipts({ [org]: answers, org_other: [] });
  await installation.client.bus.js.publish('receipts.v1.unknown', 'no receipt');
  // Two checks, or more when billing takes longer than a check waits.
  const wrong: number[] = [];
  const looked = async () => {
    await watch.check();
    wrong.push(watch.state.wrong);
    expect([watch.answers.of(org), watch.answers.waiting]).toEqual([{ compared: 5, wrong: 0 }, 0]);
  };
  await vi.waitFor(looked, { timeout: BUSY_MS });
  await looked();
  expect(new Set(wrong)).toEqual(new Set([0]));
  await vi.waitFor(
    async () => expect(await auditOf(org)).toMatchObject({ answers_compared: 5, answers_wrong: 0, drift: 0 }),
    { timeout: BUSY_MS },
  );
});

test('an answer with a lost event is a drift until it is booked; so is an answer with another cost', async () => {
  const org = 'org_lost';
  const time = new Date();
  const kept = completed('req_kept', 1_000n, { org, time });
  const lost = completed('req_gone', 2_000n, { org, time });
  // The stream acknowledges both events; one is deleted before billing reads it.
  await billing.stop();
  await installation.client.publish(kept, lost);
  const { last_seq: seq } = (await installation.client.bus.jsm.streams.info(EVENTS_STREAM)).state;
  for (const at of [seq - 1, seq]) {
    const message = await installation.client.bus.jsm.streams.getMessage(EVENTS_STREAM, { seq: at });
    if (message?.json<{ id: string }>().id === 'req_gone')
      await installation.client.bus.jsm.streams.deleteMessage(EVENTS_STREAM, at);
  }
  await installation.client.publishReceipts({
    [org]: [
      ['req_kept', 1_001n],
      ['req_gone', 2_000n],
    ],
  });
  billing = await installation.startBilling({ auditSeconds: AUDIT_SECONDS });
  const alarms: string[] = [];
  const watch = ownWatch(({ kind, subject, detail }) => alarms.push(`${kind} ${subject}: ${detail}`));
  await installation.client.caughtUp();
  await watch.check(); // the events may still be in progress
  expect(alarms).toEqual([]);
  const differs =
    'answer_differs req_kept: its caller received the cost 1001 nano-dollars; the ledger says 1000, of org_lost';
  const missing = 'answer_not_booked req_gone: its caller received the cost 2000 nano-dollars';
  for (let checks = 2; checks <= 3; checks += 1) {
    alarms.length = 0;
    await watch.check();
    expect(alarms.sort()).toEqual([differs, missing]);
    expect(watch.state.wrong).toBe(2);
  }
  await vi.waitFor(
    async () => expect(await auditOf(org)).toMatchObject({ answers_compared: 2, answers_wrong: 2, drift: 0 }),
    { timeout: BUSY_MS },
  );
  await installation.client.publish(lost); // the repair
  await installation.client.caughtUp();
  await watch.check();
  expect(watch.answers.of(org)).toEqual({ compared: 2, wrong: 1 });
});

test('surplus answers are skipped and counted; missing receipts of a killed edge are no drift', async () => {
  const org = 'org_many';
  const watch = ownWatch();
  await watch.check();
  await watch.check();
  const before = watch.answers.compared;
  const each = 5_000;
  for (let batch = 0; batch < RECEIPTS_PER_CHECK_MAX / each + 1; batch += 1)
    await installation.client.publishReceipts({
      [org]: Array.from({ length: each }, (_, i) => [`req_m${batch}x${i}`, 1n]),
    });
  await watch.check();
  expect(watch.answers.compared - before).toBe(RECEIPTS_PER_CHECK_MAX);
  expect(watch.answers.passedOver).toBe(each);
  await installation.client.bus.jsm.streams.purge(RECEIPTS_STREAM);
  // An edge was killed: its events are in the stream, its last receipts are lost.
  await installation.client.publish(
    ...Array.from({ length: 5 }, (_, i) => completed(`req_k${i}`, 1n, { time: new Date() })),
  );
  await installation.client.caughtUp();
  const fresh = ownWatch();
  for (let checks = 1; checks <= 2; checks += 1) await fresh.check();
  expect(fresh.state.wrong).toBe(0);
});

test('surplus batches of many edges are counted too', async () => {
  const org = 'org_edges';
  const watch = ownWatch();
  await watch.check();
  await watch.check();
  const [before, over] = [watch.answers.compared, 3];
  await Promise.all(
    Array.from({ length: BATCHES_PER_CHECK_MAX + over }, (_, i) =>
      installation.client.publishReceipts({ [org]: [[`req_e${i}`, 1n]] }),
    ),
  );
  await watch.check();
  expect(watch.answers.compared - before).toBe(BATCHES_PER_CHECK_MAX);
  expect(watch.answers.passedOver).toBe(over);
  await installation.client.bus.jsm.streams.purge(RECEIPTS_STREAM);
});

test('a wrong line of a statement is a drift of its org', async () => {
  const org = 'org_line';
  await installation.client.publish(completed('req_line', 1_000n, { org, time: new Date() }));
  await vi.waitFor(async () => expect((await auditOf(org)).ledger).toBe(0.000001), { timeout: BUSY_MS });
  const { lines } = installation.database.store.aggregates;
  await lines.updateOne({ org }, { $inc: { cost: 3n } });
  await vi.waitFor(
    async () => expect(await auditOf(org)).toMatchObject({ drift: 3e-9, statements_drift: 3e-9 }),
    { timeout: BUSY_MS },
  );
  await lines.updateOne({ org }, { $inc: { cost: -3n } });
  await vi.waitFor(async () => expect((await auditOf(org)).drift).toBe(0), { timeout: BUSY_MS });
});

test('a changed row, an unbooked event and a gap are found and named in the log', async () => {
  const own = await startInstallation();
  const { client: asker, database: books } = own;
  const alarms: Record<string, unknown>[] = [];
  const logger = makeLogger('watch-test', 'silent');
  logger.error = ((fields: Record<string, unknown>) => void alarms.push(fields)) as typeof logger.error;
  const watch = new BooksWatch({
    ...{
      bus: asker.bus,
      store: books.store,
      partition: ONLY_PARTITION,
      lock: new Lock(),
      clock: systemClock,
      logger,
      everyMs: 0,
    },
  });
  try {
    const running = await own.startBilling();
    const time = new Date();
    await asker.publish(...['a', 'b', 'c'].map((name) => completed(`req_${name}`, 5n, { time })));
    await asker.caughtUp();
    await watch.check();
    expect(alarms).toEqual([]);

    await asker.publish(completed('req_d', 5n, { time }), completed('req_e', 5n, { time }));
    await asker.caughtUp();
    await running.stop();
    await books.store.ledger.updateOne({ _id: 'req_d' }, { $inc: { cost: 1n } });
    await asker.publish(completed('req_lost', 5n, { time }));
    await (await (await ensureConsumer(asker.bus, ONLY_PARTITION)).next())?.ackAck();
    await vi.waitFor(async () => {
      const { ack_floor } = await asker.bus.jsm.consumers.info(EVENTS_STREAM, 'billing-p0');
      expect(ack_floor.stream_seq).toBe(6);
    }, BUSY_MS);
    await books.store.ledger.updateOne({ _id: 'req_e' }, { $set: { n: 9n } });
    await watch.check();
    expect(alarms.map(({ kind, subject }) => `${kind} ${subject}`).sort()).toEqual([
      'event_not_booked req_lost',
      'gap 4 to 9',
      'row_differs req_d',
    ]);
    expect(alarms.every(({ alarm }) => alarm === 'books_differ')).toBe(true);
    expect(watch.state).toMatchObject({ wrong: 3, gapless: false });
  } finally {
    await own.stop();
  }
});

test(`one check reads the newest ${EVENTS_PER_CHECK_MAX} events at most, and the next check continues after them`, async () => {
  const org = `org_${randomBytes(4).toString('hex')}`;
  const events = Array.from({ length: EVENTS_PER_CHECK_MAX + 100 }, (_, i) =>
    completed(`req_${org}${i}`, 1n, { org, time: new Date() }),
  );
  await installation.client.publish(...events);
  await installation.client.caughtUp();
  const watch = new BooksWatch({
    ...{
      bus: installation.client.bus,
      store: installation.database.store,
      partition: ONLY_PARTITION,
      lock: new Lock(),
    },
    ...{ clock: systemClock, logger: makeLogger('watch-test', 'silent'), everyMs: 0 },
  });
  await installation.database.store.ledger.updateOne({ _id: `req_${org}0` }, { $inc: { cost: 1n } });
  await watch.check(); // the changed row is older than the events it reads
  expect(watch.state.wrong).toBe(0);
  await installation.database.store.ledger.updateOne({ _id: `req_${org}0` }, { $inc: { cost: -1n } });
  await watch.check();
  expect(watch.state.wrong).toBe(0);
});
