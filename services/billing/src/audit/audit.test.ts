// The audit on a real nats-server and a real MongoDB wire server: it reports nothing for correct books, also while
// billing runs, and names every tampered document.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EVENTS_STREAM, eventSubject, makeEvent, RECEIPTS_STREAM } from '@switchyard/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  completed,
  credited,
  metered,
  mixedEvents,
  ORG,
  refused,
  videoCharged,
  videoRefunded,
  voided,
} from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import type { TestBilling } from '../fixtures/running-billing.ts';
import { removeLogsBefore } from '../store/log-retention.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import { type AuditReport, audit } from './audit.ts';

const HOUR_MS = 3_600_000;
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

let installation: TestInstallation;
let billing: TestBilling;

/** Correct books. Events have the current time, so that the stream covers the time of every row. */
beforeAll(async () => {
  installation = await startInstallation();
  billing = await installation.startBilling();
  const now = soon();
  await installation.client.publish(
    ...mixedEvents(250, 3),
    completed('req_a', 1_000n, { time: now }),
    completed('req_p', 10_000n, { time: now }),
    completed('req_b', 2_000n, { time: now, model: 'local/chat' }),
    completed('req_c', 3_000n, { time: now }),
    completed('req_v', 4_000n, { time: now }),
    voided('req_v', { time: now }),
    voided('req_w', { time: now }),
    completed('req_w', 5_000n, { time: now }),
    refused('req_r', { time: now }),
    metered('cmp_a', 0, 77n, { time: now }),
    metered('cmp_a', 0, 77n, { time: new Date(now.getTime() + 300_000) }), // repeated by the next agent
    voided('req_x', { time: now }), // of a call that was never completed
    voided('req_x', { time: new Date(now.getTime() + 300_000), reason: 'edge_lost' }), // repeated by the next edge
    credited('crd_a', 9_000_000n, { time: now }),
    videoCharged('vid_ok', 800n, { time: now }),
    videoCharged('vid_no', 900n, { time: now }),
    videoRefunded('vid_no', 900n, { time: now }),
  );
  await installation.client.caughtUp();
  const body = { request_id: 'req_p', amount: 4e-6, reason: 'half of it was lost' };
  await installation.client.ask('refunds.create', { org: ORG, key_id: 'key_1', refund_id: 'rfd_a', body });
  await installation.client.publish(voided('req_p', { time: now })); // voids the rest
  await installation.client.publishReceipts({
    [ORG]: [
      ['req_p', 10_000n],
      ['req_w', 5_000n],
      ['vid_no:charge', 900n],
    ],
  });
  await installation.client.publish({ ...completed('req_a', 1_001n, { time: now }) }); // contradicts the ledger: rejected
  const odd = completed('req_odd', 1n, { time: now });
  const unreadable = [{ no: 'event' }, { ...odd, data: { ...odd.data, cost_nano: '0.5' } }];
  for (const message of unreadable)
    await installation.client.bus.js.publish('event.v1.call.completed.org_a', JSON.stringify(message));
  await installation.client.caughtUp();
});

afterAll(() => installation?.stop());

/** A time that is certainly after the start of the stream, even when clocks differ. */
function soon(): Date {
  return new Date(Date.now() + 10_000);
}

/** Runs the audit of `npm run audit` in this process. */
async function auditNow({ idle = false, checksMax = 5 } = {}): Promise<AuditReport> {
  const workDb = installation.database.db.client.db(`audit_${randomBytes(8).toString('hex')}`);
  try {
    return await audit({
      bus: installation.client.bus,
      store: installation.database.store,
      workDb,
      idle,
      checksMax,
    });
  } finally {
    await workDb.dropDatabase();
  }
}

const found = ({ named }: AuditReport) => named.map(({ kind, subject }) => `${kind} ${subject}`).sort();

test('correct books have zero drift, in either order of a charge and its void', async () => {
  const report = await auditNow({ idle: true });
  expect(found(report)).toEqual([]);
  expect(report).toMatchObject({ drifts: 0, ledger: { gapless: true, rowsBeforeLogs: 0 } });
  expect(report.stream.rejected).toBe(3);
  expect(report.ledger.rows).toBe(await installation.database.store.ledger.countDocuments());
  expect(report.hours.compared).toBe(await installation.database.store.aggregates.hours.countDocuments());
  expect(report.lines.compared).toBe(await installation.database.store.aggregates.lines.countDocuments());
  expect(report.lines.compared).toBeGreaterThan(5);
  expect(report.stream.rows).toBeGreaterThanOrEqual(12);
  expect(report.totals.ledger).toBe(report.totals.logs);
  expect(report.answers.compared).toBe(3);
  expect(report.balances.find(({ org }) => org === ORG)).toMatchObject({ credits: 9_000_000n, held: 0 });
});

test('an audit finds no drift while billing books into the same hours', async () => {
  let going = true;
  let sent = 0;
  const traffic = (async () => {
    for (let seed = 100; going; seed += 1) {
      const events = mixedEvents(40, seed);
      await installation.client.publish(...events);
      await installation.client.caughtUp(); // limits the rate to what billing can book
      sent += events.length;
    }
  })();
  try {
    const before = await installation.database.store.ledger.countDocuments();
    for (let i = 0; i < 3; i += 1) expect(found(await auditNow({ checksMax: 25 }))).toEqual([]);
    expect(await installation.database.store.ledger.countDocuments()).toBeGreaterThan(before);
  } finally {
    going = false;
    await traffic;
  }
  expect(sent).toBeGreaterThan(0);
  await installation.client.caughtUp();
  expect(found(await auditNow({ idle: true }))).toEqual([]);
}, 300_000);

describe('an audit finds and names:', () => {
  const hourOf = () =>
    installation.database.store.aggregates.hours.findOne({ org: ORG, family: 'model', value: 'local/chat' });

  test('a changed cost in the ledger', async () => {
    const { ledger } = installation.database.store;
    await ledger.updateOne({ _id: 'req_b' }, { $inc: { cost: 1n } });
    const report = await auditNow();
    await ledger.updateOne({ _id: 'req_b' }, { $inc: { cost: -1n } });
    expect(found(report)).toEqual(expect.arrayContaining(['row_differs req_b', 'log_differs req_b']));
    expect(found(report)).toContain(`sum_differs ${ORG} logs`);
    expect(found(report).some((one) => one.startsWith('aggregate_differs'))).toBe(true);
  });

  test('a removed row, by its number, its event and its log row', async () => {
    const { ledger } = installation.database.store;
    const row = await ledger.findOne({ _id: 'req_c' });
    if (!row) throw new Error('req_c is not booked');
    await ledger.deleteOne({ _id: 'req_c' });
    const report = await auditNow();
    await ledger.insertOne(row);
    expect(found(report)).toEqual(
      expect.arrayContaining([`gap ${row.n}`, 'event_not_booked req_c', 'log_without_row req_c']),
    );
    expect(report.ledger.gapless).toBe(false);
  });

  test('a row without an event', async () => {
    const { ledger } = installation.database.store;
    const [last] = await ledger.find().sort({ n: -1 }).limit(1).toArray();
    const row = await ledger.findOne({ _id: 'req_c' });
    if (!last || !row) throw new Error('nothing is booked');
    await ledger.insertOne({ ...row, _id: 'req_forged', n: last.n + 1n });
    const report = await auditNow();
    await ledger.deleteOne({ _id: 'req_forged' });
    expect(found(report)).toEqual(
      expect.arrayContaining(['row_without_event req_forged', 'log_missing req_forged']),
    );
  });

  test('a row without a number', async () => {
    const { ledger } = installation.database.store;
    const row = await ledger.findOne({ _id: 'req_c' });
    if (!row) throw new Error('req_c is not booked');
    await ledger.insertOne({ ...row, _id: 'req_other', p: 'p9', n: 1n });
    const report = await auditNow();
    await ledger.deleteOne({ _id: 'req_other' });
    expect(found(report)).toEqual(['row_unnumbered req_other']);
  });

  test('an aggregate off by one nano-dollar, one off by a call, a missing one, and one without rows', async () => {
    const { hours, days } = installation.database.store.aggregates;
    const hour = await hourOf();
    const [quarter] = Object.keys(hour?.quarters ?? {});
    const day = await days.findOne({ org: ORG, family: 'key' });
    const gone = await days.findOne({ org: ORG, family: 'maker' });
    if (!hour || !day || !gone) throw new Error('nothing is booked');
    await hours.updateOne({ _id: hour._id }, { $inc: { [`quarters.${quarter}.cost`]: 1n } });
    await days.updateOne({ _id: day._id }, { $inc: { calls: 1n } });
    await days.deleteOne({ _id: gone._id });
    await days.insertOne({ ...gone, _id: `${gone._id}x` });
    const report = await auditNow();
    await hours.updateOne({ _id: hour._id }, { $inc: { [`quarters.${quarter}.cost`]: -1n } });
    await days.updateOne({ _id: day._id }, { $inc: { calls: -1n } });
    await days.deleteOne({ _id: `${gone._id}x` });
    await days.insertOne(gone);
    const drifts = found(report).filter((one) => one.startsWith('aggregate'));
    expect(drifts).toEqual(
      [
        `aggregate_differs ${hour._id}`,
        `aggregate_differs ${day._id}`,
        `aggregate_missing ${gone._id}`,
        `aggregate_extra ${gone._id}x`,
      ].sort(),
    );
    expect(found(report)).toContain(`sum_differs ${ORG} usage by model, from hours`);
  });

  test('an answer that is not in the ledger, or is booked at another cost or for another org', async () => {
    await installation.client.publishReceipts({
      [ORG]: [
        ['req_a', 1_000n],
        ['req_b', 2_001n],
        ['req_never', 5n],
      ],
      org_z: [['req_c', 3_000n]],
    });
    const report = await auditNow();
    await installation.client.bus.jsm.streams.purge(RECEIPTS_STREAM);
    expect(found(report)).toEqual([
      'answer_differs req_b',
      'answer_differs req_c',
      'answer_not_booked req_never',
    ]);
    expect(report.answers.compared).toBe(7);
  });

  test('lines of statements: a wrong cost, count or rate, a missing line, a line without rows, a misplaced row', async () => {
    const { ledger, aggregates } = installation.database.store;
    const { lines } = aggregates;
    const [one, two, three, gone] = await lines.find({ org: ORG, kind: 'usage' }).sort({ _id: 1 }).toArray();
    if (!one || !two || !three || !gone) throw new Error('nothing is in a statement');
    await lines.updateOne({ _id: one._id }, { $inc: { cost: 1n } });
    await lines.updateOne({ _id: two._id }, { $inc: { calls: 1n } });
    await lines.updateOne({ _id: three._id }, { $set: { rates: ['seconds 0.1'] } });
    await lines.deleteOne({ _id: gone._id });
    await lines.insertOne({ ...gone, _id: `${gone._id}x` });
    const row = await ledger.findOne({ _id: 'req_b' });
    await ledger.updateOne({ _id: 'req_b' }, { $set: { line: 'line_other' } });
    const report = await auditNow();
    await ledger.updateOne({ _id: 'req_b' }, { $set: { line: row?.line ?? '' } });
    for (const line of [one, two, three, gone])
      await lines.replaceOne({ _id: line._id }, line, { upsert: true });
    await lines.deleteOne({ _id: `${gone._id}x` });
    expect(found(report)).toEqual(
      [
        ...[one, two, three].map(({ _id }) => `aggregate_differs ${_id}`),
        `aggregate_missing ${gone._id}`,
        `aggregate_extra ${gone._id}x`,
        'row_misplaced req_b',
        `sum_differs ${ORG} statements`,
      ].sort(),
    );
    expect(report.drifts).toBe(found(report).length);
    expect(report.named.find(({ subject }) => subject === three._id)?.detail).toContain('rates seconds 0.1');
  });

  test('a row moved into another month', async () => {
    const { ledger } = installation.database.store;
    const row = await ledger.findOne({ _id: 'req_b' });
    if (!row?.month || !row.line) throw new Error('req_b is not booked');
    await ledger.updateOne({ _id: 'req_b' }, { $set: { month: '2031-01' } });
    const report = await auditNow();
    await ledger.updateOne({ _id: 'req_b' }, { $set: { month: row.month } });
    expect(found(report)).toContain('row_misplaced req_b');
    expect(
      found(report)
        .filter((one) => one.startsWith('aggregate'))
        .map((one) => one.split(' ')[0]),
    ).toEqual(['aggregate_differs', 'aggregate_missing']);
  });

  test('log rows: a wrong cost, a cost without a ledger row, a missing row, an undone void, a video’s row', async () => {
    const { logs } = installation.database.store;
    const gone = await logs.findOne({ _id: 'req_b' });
    if (!gone) throw new Error('nothing is logged');
    await logs.updateOne({ _id: 'req_a' }, { $inc: { cost: 1n } });
    await logs.deleteOne({ _id: 'req_b' });
    await logs.insertOne({ ...gone, _id: 'req_forged' });
    await logs.updateOne({ _id: 'req_v' }, { $set: { status: 'ok', cost: 4_000n } });
    await logs.updateOne({ _id: 'req_of_vid_ok' }, { $inc: { cost: 1n } });
    const report = await auditNow();
    await logs.updateOne({ _id: 'req_a' }, { $inc: { cost: -1n } });
    await logs.insertOne(gone);
    await logs.deleteOne({ _id: 'req_forged' });
    await logs.updateOne({ _id: 'req_v' }, { $set: { status: 'voided', cost: 0n } });
    await logs.updateOne({ _id: 'req_of_vid_ok' }, { $inc: { cost: -1n } });
    const drifts = ['log_differs req_a', 'log_missing req_b', 'log_without_row req_forged'];
    expect(found(report)).toEqual(
      expect.arrayContaining([...drifts, 'log_differs req_v', 'log_differs req_of_vid_ok']),
    );
  });

  test('an event that was acknowledged and never booked', async () => {
    // Billing stops, and another consumer acknowledges the event.
    await billing.stop();
    const consumer = await installation.client.bus.js.consumers.get(
      EVENTS_STREAM,
      `billing-${FIRST_PARTITION}`,
    );
    const event = completed('req_lost', 6_000n, { time: soon() });
    await installation.client.publish(event);
    await (await consumer.next())?.ackAck();
    const report = await auditNow();
    // The repair of docs/money.md: publish the event again.
    await installation.client.publish(event);
    billing = await installation.startBilling();
    await installation.client.caughtUp();
    expect(found(report)).toEqual(['event_not_booked req_lost']);
  });

  test('an event that billing ignores although it states a cost', async () => {
    const { js, jsm } = installation.client.bus;
    const data = { key_id: 'key_1', org: ORG, by_key_id: null };
    const ignored = makeEvent({ name: 'key.created', id: 'key_1:created', source: 's', time: soon(), data });
    const priced = { ...ignored, data: { ...data, cost_nano: '7000' } };
    const { seq } = await js.publish(eventSubject(ignored), JSON.stringify(priced), {
      expect: { streamName: EVENTS_STREAM },
    });
    await installation.client.caughtUp();
    const report = await auditNow();
    await jsm.streams.deleteMessage(EVENTS_STREAM, seq);
    expect(found(report)).toEqual(['event_not_booked key_1:created']);
  });

  test('nothing is found after all of it is repaired', async () => {
    expect(found(await auditNow({ idle: true }))).toEqual([]);
  });
});

describe('npm run audit', () => {
  async function run(env: Record<string, string>, ...args: string[]) {
    const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env } });
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (data) => (stdout += data));
    child.stderr?.on('data', (data) => (stderr += data));
    const [code] = await once(child, 'close');
    return { code, stdout, stderr };
  }
  const servers = () => ({ NATS_URL: installation.nats.url, MONGODB_URL: installation.database.url });

  test('exits with 0, reports zero drift, and leaves no database behind', async () => {
    const { code, stdout, stderr } = await run(servers());
    expect(stdout).toContain('zero drift');
    expect(stdout).toMatch(/^ledger {6}[\d,]+ rows; numbers 1 to [\d,]+ without a gap; \$/);
    expect(code, stderr).toBe(0);
    const admin = installation.database.db.client.db('admin').admin();
    const left = async () =>
      (await admin.listDatabases()).databases.filter(({ name }) => name.startsWith('switchyard_audit_'));
    await expect.poll(left).toEqual([]); // other tests audit on this server too
  });

  test('exits with 1 and names each difference, also in JSON', async () => {
    const { ledger } = installation.database.store;
    await ledger.updateOne({ _id: 'req_b' }, { $inc: { cost: 1n } });
    const [text, json] = await Promise.all([run(servers()), run(servers(), '--json')]);
    await ledger.updateOne({ _id: 'req_b' }, { $inc: { cost: -1n } });
    expect([text.code, json.code]).toEqual([1, 1]);
    expect(text.stdout).toMatch(/^DRIFT {2}row_differs {2}req_b \(org_a\): .*"cost":"2001".*"cost":"2000"/m);
    expect(JSON.parse(json.stdout)).toMatchObject({
      named: expect.arrayContaining([expect.objectContaining({ kind: 'row_differs', subject: 'req_b' })]),
    });
  });

  test('exits with 2 when the servers are unavailable', async () => {
    expect(await run({ SWITCHYARD_DATA: '/nowhere', NATS_URL: '', MONGODB_URL: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Run npm start'),
    });
    const withoutDatabase = await run({ ...servers(), MONGODB_URL: 'mongodb://127.0.0.1:1/' });
    expect(withoutDatabase).toMatchObject({ code: 2, stderr: expect.stringContaining('audit failed') });
  });
});

test('an audit finds no drift after old rows of the logs were removed', async () => {
  const now = soon().getTime();
  const hoursAgo = (hours: number) => new Date(now - hours * HOUR_MS);
  await installation.client.publish(
    completed('req_removed', 1_000n, { time: hoursAgo(10) }),
    completed('req_kept', 2_000n, { time: hoursAgo(8) }),
    completed('req_voided', 4_000n, { time: hoursAgo(8) }),
    voided('req_voided', { time: hoursAgo(1) }),
    completed('req_later', 8_000n, { time: hoursAgo(1) }),
  );
  await installation.client.caughtUp();
  const { store } = installation.database;
  expect(await removeLogsBefore(store, hoursAgo(9), new AbortController().signal)).toBeGreaterThan(0);
  expect(found(await auditNow())).toEqual([]);
});

test('a cost that is not the sum of its lines is a drift, and one at marked-up rates is none', async () => {
  const lines = [{ unit: 'input_token', quantity: 19, rate: '0.00000016875' }];
  const time = soon();
  await installation.client.publish(
    completed('req_sum', 3_206n, { time, lines }), // 3206.25 nano-dollars
    completed('req_not_sum', 3_207n, { time, lines }),
    completed('req_no_rate', 3_206n, { time, lines: [{ ...lines[0], rate: '1e-7' }] as typeof lines }),
  );
  await installation.client.caughtUp();
  expect(found(await auditNow())).toEqual(['event_differs req_no_rate', 'event_differs req_not_sum']);
});
