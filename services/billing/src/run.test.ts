// All of billing, over a real nats-server and a real MongoDB wire server: from events to answers.
import { EVENTS_STREAM, logEntry, logList, usageReport } from '@switchyard/contracts';
import { systemClock } from '@switchyard/service';
import { startMongo, startNats } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CATCH_UP_MS_MAX, catchUp } from './catch-up.ts';
import { ensureConsumer } from './consumer.ts';
import { expectBooked, expectBooksBalance } from './fixtures/books.ts';
import {
  completed,
  metered,
  mixedEvents,
  refused,
  TIME,
  videoCharged,
  videoRefunded,
  voided,
} from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';
import { runBilling, TestClient } from './fixtures/running-billing.ts';
import { ONLY_PARTITION } from './partitions/partition.ts';
import { Progress } from './progress.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  await installation.startBilling();
  await installation.client.caughtUp(); // billing creates the indexes of an empty database first
});

afterAll(() => installation?.stop());

const ALL = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' };

describe('an answer', () => {
  test('includes everything that was stored before the question, at once', async () => {
    const org = 'org_now';
    for (let i = 1; i <= 20; i += 1) {
      const asked = Date.now();
      await installation.client.publish(completed(`req_now${i}`, 100n, { org }));
      const report = usageReport.parse(await installation.client.usage(ALL, org));
      expect(report.total).toMatchObject({ calls: i, cost: (i * 100) / 1e9 });
      expect(Date.parse(report.as_of)).toBeGreaterThanOrEqual(asked);
      expect(logEntry.parse(await installation.client.log(`req_now${i}`, org)).cost).toBe(0.0000001);
    }
  });

  test('shows a call with its key, model, duration and cost', async () => {
    await installation.client.publish(completed('req_shape', 12_500n, { model: 'zeta/other', stream: true }));
    expect(await installation.client.log('req_shape')).toEqual({
      object: 'log',
      id: 'req_shape',
      at: TIME.toISOString(),
      kind: 'call',
      status: 'ok',
      http_status: 200,
      error_code: null,
      key_id: 'key_1',
      method: 'POST',
      path: '/v1/chat/completions',
      type: 'language',
      dialect: 'chat',
      requested_model: 'acme/chat-1',
      model: 'zeta/other',
      maker: 'acme',
      computer_id: null,
      stream: true,
      cost: 0.0000125,
      basis: 'upstream',
      quantities: { input_tokens: 10, output_tokens: 5 },
      latency_ms: 12.5,
      first_byte_ms: 3.25,
      attempts: [
        { model: 'acme/chat-1', upstream: 'acme/chat-1#0', status: 200, error: null, latency_ms: 12 },
      ],
      ...{ tags: {}, client_request_id: null, traceparent: null, correction: null },
    });
  });

  test('contains no data of another org', async () => {
    await installation.client.publish(completed('req_private', 1n, { org: 'org_x' }));
    await expect(installation.client.log('req_private', 'org_y')).rejects.toMatchObject({
      code: 'log_not_found',
    });
    await expect(installation.client.log('req_never', 'org_x')).rejects.toMatchObject({
      code: 'log_not_found',
    });
    expect((await installation.client.logs({}, 'org_y')).data).toEqual([]);
    expect((await installation.client.usage(ALL, 'org_y')).total).toEqual({
      calls: 0,
      cost: 0,
      quantities: {},
    });
    expect((await installation.client.log('req_private', 'org_x')).id).toBe('req_private');
  });

  test('to an invalid question is a coded error that names the field', async () => {
    const invalid = (param: string) => ({ code: 'invalid_request', param });
    await expect(installation.client.usage({ from: ALL.to, to: ALL.from })).rejects.toMatchObject(
      invalid('from'),
    );
    await expect(installation.client.logs({ from: ALL.to, to: ALL.from })).rejects.toMatchObject(
      invalid('from'),
    );
    await expect(installation.client.logs({ after: 'nonsense' })).rejects.toMatchObject(invalid('after'));
  });
});

describe('the log', () => {
  const org = 'org_pages';
  const at = (ms: number) => new Date(TIME.getTime() + ms);

  test('is read page by page to its end, newest first, without repeats, while new rows arrive', async () => {
    // Many rows in the same millisecond: a cursor of time alone would skip or repeat some.
    const events = Array.from({ length: 57 }, (_, i) =>
      completed(`req_page${i}`, 1n, { org, time: at(Math.floor(i / 9)) }),
    );
    await installation.client.publish(...events);
    await installation.client.caughtUp();
    const seen: { id: string; at: string }[] = [];
    let cursor: string | null = null;
    do {
      const page = logList.parse(
        await installation.client.logs({ limit: 10, ...(cursor ? { after: cursor } : {}) }, org),
      );
      seen.push(...page.data);
      expect(page.has_more).toBe(page.next_cursor !== null);
      expect([page.first_id, page.last_id]).toEqual([page.data[0]?.id, page.data.at(-1)?.id]);
      cursor = page.next_cursor;
      await installation.client.publish(
        completed(`req_later${seen.length}`, 1n, { org, time: at(10_000 + seen.length) }),
      );
    } while (cursor);
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(events.map(({ id }) => id)));
    expect(seen).toHaveLength(events.length);
    expect(seen.map((entry) => entry.at)).toEqual(
      seen
        .map((entry) => entry.at)
        .toSorted()
        .toReversed(),
    );
  });

  test('has refused calls at once, from a separate stream, and they delay no charge', async () => {
    const org = 'org_refusals';
    const { last_seq: before } = (await installation.client.bus.jsm.streams.info(EVENTS_STREAM)).state;
    const nothing = { org, model: null, maker: null, attempts: [], lines: [], quantities: {} };
    await installation.client.publish(
      refused('req_r1', { org, time: at(1) }),
      completed('req_r2', 0n, { ...nothing, time: at(2), status: 'refused', http_status: 402 }),
    );
    expect((await installation.client.logs({}, org)).data).toMatchObject([
      { id: 'req_r2', status: 'refused', http_status: 402, cost: 0 },
      { id: 'req_r1', status: 'refused', http_status: 404, cost: 0 },
    ]);
    expect((await installation.client.bus.jsm.streams.info(EVENTS_STREAM)).state.last_seq).toBe(before);
  });

  test('is filtered by each of its filters', async () => {
    const other = 'org_filters';
    await installation.client.publish(
      completed('req_f1', 1n, { org: other, time: at(1), key_id: 'key_a', type: 'embedding' }),
      completed('req_f2', 2n, { org: other, time: at(2), requested_model: 'acme/x', model: 'acme/y' }),
      refused('req_f3', { org: other, time: at(3), requested_model: 'acme/x' }),
      metered('cmp_f', 0, 3n, { org: other, time: at(4) }),
      completed('req_f5', 5n, { org: other, time: at(5) }),
      voided('req_f5', { org: other }),
    );
    const ids = async (query: Parameters<typeof installation.client.logs>[0]) =>
      (await installation.client.logs(query, other)).data.map(({ id }) => id);
    expect(await ids({})).toEqual(['req_f5', 'cmp_f:1:0', 'req_f3', 'req_f2', 'req_f1']);
    expect(await ids({ key: 'key_a' })).toEqual(['req_f1']);
    expect(await ids({ type: 'embedding' })).toEqual(['req_f1']);
    expect(await ids({ type: 'computer' })).toEqual(['cmp_f:1:0']);
    expect(await ids({ model: 'acme/x' })).toEqual(['req_f3', 'req_f2']);
    expect(await ids({ model: 'acme/y' })).toEqual(['req_f2']);
    expect(await ids({ computer: 'cmp_f' })).toEqual(['cmp_f:1:0']);
    expect(await ids({ status: 'voided' })).toEqual(['req_f5']);
    expect(await ids({ from: at(2).toISOString(), to: at(4).toISOString() })).toEqual(['req_f3', 'req_f2']);
    expect(await ids({ model: 'acme/x', status: 'ok', type: 'language' })).toEqual(['req_f2']);
  });
});

describe('the stream', () => {
  test('may deliver everything twice, with new sequences and out of order', async () => {
    const events = mixedEvents(150, 5);
    await installation.client.usage(ALL);
    const rowsBefore = await installation.database.store.ledger.countDocuments();
    await installation.client.publish(...events);
    await installation.client.publish(...events.toReversed());
    await installation.client.caughtUp();
    await expectBooked(installation.database.db, events, rowsBefore);
    await expectBooksBalance(installation.database.db);
  });

  test('may contain invalid events: they are stored with the reason and delay nothing', async () => {
    const { store } = installation.database;
    const before = await store.rejected.countDocuments();
    const call = completed('req_after', 3n);
    const poison = [
      ['event.v1.call.completed.org_a', '{"not": "json'],
      ['event.v1.call.completed.org_a', JSON.stringify({ ...call, data: { ...call.data, cost_nano: 1.5 } })],
      ['event.v1.call.completed.org_b', JSON.stringify(call)],
      ['event.v1.unknown.noun.org_a', JSON.stringify({ hello: 'there' })],
    ] as const;
    for (const [subject, data] of poison) await installation.client.bus.js.publish(subject, data);
    await installation.client.publish(call, completed('req_after', 4n));
    expect((await installation.client.log('req_after')).cost).toBe(0.000000003);
    const kept = await store.rejected.find().sort({ seq: 1 }).toArray();
    expect(kept).toHaveLength(before + poison.length + 1);
    expect(kept.at(-1)?.reason).toBe('it was booked at 3 nano-dollars, not 4');
    expect(kept.map(({ data }) => data)).toEqual(expect.arrayContaining(poison.map(([, data]) => data)));
    await expectBooksBalance(installation.database.db);
  });
});

test('an answer waits for unbooked events for a limited time, and states up to when it is complete', async () => {
  // A separate stream whose consumer has no reader.
  const idle = await startNats();
  const asker = await TestClient.connect(idle.url);
  try {
    const consumer = await ensureConsumer(asker.bus, ONLY_PARTITION);
    await asker.publish(completed('req_1', 1n));
    const first = await consumer.next();
    await first?.ackAck();
    await asker.publish(completed('req_2', 1n));
    const askedAt = performance.now();
    const asOf = await catchUp({
      bus: asker.bus,
      partition: ONLY_PARTITION,
      progress: new Progress(),
      clock: systemClock,
    });
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(CATCH_UP_MS_MAX - 50);
    expect(asOf).toEqual(first?.time);
  } finally {
    await asker.close();
    await idle.stop();
  }
});

test('the next instance takes over from one that stops, and from one that loses its link', async () => {
  const own = await startInstallation();
  const { client: asker } = own;
  try {
    const first = await own.startBilling();
    await asker.publish(completed('req_1', 1n));
    expect((await asker.usage(ALL)).total.calls).toBe(1);

    await first.stop();
    const second = await own.startBilling();
    await asker.publish(completed('req_2', 1n));
    expect((await asker.usage(ALL)).total.calls).toBe(2);

    await asker.publish(completed('req_3', 1n));
    await second.vanish();
    await asker.publish(completed('req_4', 1n));
    await own.startBilling();
    await asker.caughtUp(); // unacknowledged events of the other instance are redelivered
    expect((await asker.usage(ALL)).total.calls).toBe(4);
    await expectBooksBalance(own.database.db);
  } finally {
    await own.stop();
  }
});

test('an instance that starts while the database is down serves when it is back', async () => {
  const [nats, database] = await Promise.all([startNats(), startMongo()]);
  const asker = await TestClient.connect(nats.url);
  await database.kill9();
  const billing = await runBilling(nats.url, database.url);
  try {
    await asker.publish(completed('req_1', 1n));
    await database.restart();
    await asker.caughtUp();
    expect((await asker.usage(ALL)).total.calls).toBe(1);
  } finally {
    await billing.stop();
    await asker.close();
    await Promise.all([nats.stop(), database.stop()]);
  }
});

describe('a video', () => {
  const allTogether = async (org: string) =>
    usageReport.parse(await installation.client.usage({ ...ALL, group_by: 'model' }, org));

  test('is a charge with its seconds, found under its request id', async () => {
    const org = 'org_video';
    await installation.client.publish(videoCharged('vid_1', 800_000_000n, { org }));
    const report = await allTogether(org);
    expect(report.total).toEqual({ calls: 1, cost: 0.8, quantities: { seconds: 8 } });
    expect(report.data).toMatchObject([{ group: 'acme/video-1', cost: 0.8 }]);
    expect(logEntry.parse(await installation.client.log('req_of_vid_1', org))).toMatchObject({
      kind: 'call',
      type: 'video',
      status: 'ok',
      http_status: 202,
      cost: 0.8,
      quantities: { seconds: 8 },
    });
  });

  test.each([
    ['after its charge', false],
    ['before its charge', true],
  ])('that fails is a charge and a refund that cancel out; the refund %s', async (_when, first) => {
    const org = `org_refund_${first}`;
    const id = `vid_2${first}`;
    const events = [videoCharged(id, 800_000_000n, { org }), videoRefunded(id, 800_000_000n, { org })];
    for (const event of first ? events.reverse() : events) await installation.client.publish(event);
    for (const event of events) await installation.client.publish(event); // duplicates are recognized
    const report = await allTogether(org);
    expect(report.total).toEqual({ calls: 1, cost: 0, quantities: {} });
    expect(logEntry.parse(await installation.client.log(`${id}:refund`, org))).toMatchObject({
      kind: 'refund',
      cost: -0.8,
      quantities: { seconds: -8 },
    });
  });

  test('made by a cheaper model refunds the difference, and the rest when that model fails', async () => {
    const org = 'org_difference';
    await installation.client.publish(videoCharged('vid_3', 800_000_000n, { org }));
    await installation.client.publish(videoRefunded('vid_3', 300_000_000n, { org, reason: 'cheaper_model' }));
    expect((await allTogether(org)).total).toEqual({ calls: 1, cost: 0.5, quantities: { seconds: 8 } });
    await installation.client.publish(videoRefunded('vid_3', 500_000_000n, { org }));
    expect((await allTogether(org)).total).toEqual({ calls: 1, cost: 0, quantities: {} });
  });

  test('leaves books that balance', () => expectBooksBalance(installation.database.db));
});
