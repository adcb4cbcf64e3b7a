import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENTS_STREAM, type Event, type KeyRecord, makeEvent, ServiceError } from '@switchyard/contracts';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inBatches } from './in-batches.ts';
import {
  type Bus,
  connectBus,
  createEventPublisher,
  ensureEventsStream,
  holdLease,
  mirrorBucket,
  openBucket,
  RevisionConflict,
  TICK_KEY,
  takeLease,
} from './index.ts';

const logger = pino({ level: 'silent' });
/** For what takes a second or two where nothing else runs. */
const BUSY_MS = 30_000;
let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

const record = (id: string): KeyRecord => ({
  id,
  org: 'org_x',
  name: 'a key',
  permissions: ['models:write'],
  prefix: 'sy_12345',
  created_at: '2026-11-21T00:00:00.000Z',
  expires_at: null,
});

describe('a bucket', () => {
  test('guards its writes by revision', async () => {
    const keys = await openBucket(bus, 'keys');
    const first = await keys.create('a', record('key_a'));
    await expect(keys.create('a', record('key_b'))).rejects.toThrow(RevisionConflict);
    const second = await keys.update('a', record('key_c'), first);
    await expect(keys.update('a', record('key_d'), first)).rejects.toThrow(RevisionConflict);
    expect(await keys.get('a')).toMatchObject({ value: { id: 'key_c' }, revision: second });
    await keys.delete('a', second);
    expect(await keys.get('a')).toBeNull();
    expect(await keys.create('a', record('key_e'))).toBeGreaterThan(second);
    await keys.delete('a');
  });

  test('lists all that is under a pattern, more than one question holds, and nothing that is deleted', async () => {
    const slots = await openBucket(bus, 'computer-slots');
    const names = Array.from({ length: 1_100 }, (_, i) => `many.${i}`);
    await inBatches(names, (name) => slots.put(name, {}));
    await slots.put('other', {});
    await slots.delete('many.7');
    expect((await slots.keys('many.*')).sort()).toEqual(names.filter((name) => name !== 'many.7').sort());
    expect(await slots.keys('none.>')).toEqual([]);
    expect(await slots.entries('other')).toEqual([{ key: 'other', value: {}, revision: expect.any(Number) }]);
  });

  test('misses no key that is written while it is listed, however often, and leaves no consumer behind', async () => {
    const slots = await openBucket(bus, 'computer-slots');
    const names = Array.from({ length: 20 }, (_, i) => `busy.${i}`);
    await Promise.all(names.map((name) => slots.put(name, {})));
    let listing = true;
    const writing = names.map(async (name) => {
      while (listing) await slots.put(name, { cmp_1: '2026-11-21T00:00:00.000Z' });
    });
    for (let round = 0; round < 200; round += 1)
      expect((await slots.entries('busy.*')).map(({ key }) => key).sort()).toEqual(names.toSorted());
    listing = false;
    await Promise.all(writing);
    expect((await bus.jsm.streams.info('KV_computer-slots')).state.consumer_count).toBe(0);
  }, 60_000);
});

describe('a mirror', () => {
  test('sees a key come and go, and knows at once what was there before', async () => {
    const keys = await openBucket(bus, 'keys');
    await keys.put('before', record('key_before'));
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    expect(mirror.lookup('before')).toMatchObject({ id: 'key_before' });
    const gone = Promise.withResolvers<void>();
    mirror.onChange((key, value) => {
      if (key === 'before' && value === null) gone.resolve();
    });
    await keys.delete('before');
    await gone.promise;
    expect(await mirror.lookup('before')).toBeNull();
    mirror.close();
  });

  test('asks the bucket for what it has not heard of yet', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    await keys.put('new', record('key_new'));
    expect(await mirror.lookup('new')).toMatchObject({ id: 'key_new' });
    await keys.delete('new');
    mirror.close();
  });

  test('has caught up when it has all that was there when it was asked, what went included', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    for (let i = 0; i < 20; i++) {
      await keys.put(`new-${i}`, record(`key_new_${i}`));
      expect(await mirror.caughtUp(BUSY_MS)).toBe(true);
      expect(mirror.peek(`new-${i}`)).toMatchObject({ id: `key_new_${i}` });
      await keys.delete(`new-${i}`);
      expect(await mirror.caughtUp(BUSY_MS)).toBe(true);
      expect(mirror.peek(`new-${i}`)).toBeNull();
    }
    mirror.close();
  });

  test('says of as many as ask at once whether it has caught up, for a question or two to the bucket', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    const question = vi.spyOn(keys, 'lastRevision');
    const asked = Array.from({ length: 1_000 }, () => mirror.caughtUp(BUSY_MS));
    // Those who ask after a record was written must not be told by an answer from before.
    await keys.put('amid', record('key_amid'));
    asked.push(...Array.from({ length: 1_000 }, () => mirror.caughtUp(BUSY_MS)));
    expect(await asked.at(-1)).toBe(true);
    expect(mirror.peek('amid')).toMatchObject({ id: 'key_amid' });
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
    expect(question.mock.calls.length).toBeLessThanOrEqual(4);
    await keys.delete('amid');
    mirror.close();
  });

  test('asks the bucket again after a question that failed', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    vi.spyOn(keys, 'lastRevision').mockRejectedValueOnce(
      new ServiceError('service_unavailable', 'no answer'),
    );
    const [first, second] = await Promise.allSettled([mirror.caughtUp(BUSY_MS), mirror.caughtUp(BUSY_MS)]);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'service_unavailable' } });
    expect(second).toEqual({ status: 'fulfilled', value: true });
    expect(await mirror.caughtUp(BUSY_MS)).toBe(true);
    mirror.close();
  });

  test('that hears nothing any more is not waited for', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: false });
    mirror.close();
    await keys.put('unheard', record('key_unheard'));
    expect(await mirror.caughtUp(1)).toBe(false);
    expect(mirror.peek('unheard')).toBeNull();
    await keys.delete('unheard');
  });

  test('does not trust its memory when the tick is missing, and does again when it is back', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys, { tick: true });
    /** Ticks until it is trusted. */
    const trusted = async () => {
      const ticking = setInterval(() => void keys.kv.put(TICK_KEY, 'now'), 100);
      await expect.poll(() => mirror.fresh).toBe(true);
      clearInterval(ticking);
    };
    await trusted();
    await expect.poll(() => mirror.fresh).toBe(false);
    await trusted();
    mirror.close();
  }, 60_000);
});

describe('a lease', () => {
  test('that is given back while it is renewed is free at once', async () => {
    const asked = vi.spyOn(bus.nc, 'request');
    const asksOfLease = () => asked.mock.calls.filter(([subject]) => subject === '$KV.leases.busy').length;
    const lease = await takeLease({ bus, name: 'busy', onLost: () => {} });
    const before = asksOfLease();
    process.kill(nats.pid, 'SIGSTOP'); // so that a renewal is under way
    await expect.poll(asksOfLease).toBeGreaterThan(before);
    const released = lease?.release();
    process.kill(nats.pid, 'SIGCONT');
    await released;
    asked.mockRestore();
    expect(await (await openBucket(bus, 'leases')).get('busy')).toBeNull();
  }, 30_000);

  test('has one holder; the next one has it when the first lets go', async () => {
    const other = await connectBus({ url: nats.url, service: 'other', logger });
    const lease = await holdLease({ bus, name: 'one', onLost: () => {} });
    let taken = false;
    const next = holdLease({ bus: other, name: 'one', onLost: () => {} }).then((held) => {
      taken = true;
      return held;
    });
    await (await openBucket(bus, 'leases')).get('one');
    expect(taken).toBe(false);
    await lease.release();
    await (await next).release();
    await other.close();
  });

  test('passes on when its holder dies without a word', async () => {
    const dying = await connectBus({ url: nats.url, service: 'dying', logger });
    await holdLease({ bus: dying, name: 'two', onLost: () => {} });
    await dying.nc.close();
    const lease = await holdLease({ bus, name: 'two', onLost: () => {} });
    await lease.release();
    await dying.close();
  }, 60_000);
});

describe('the event publisher', () => {
  const event = (id: string): Event =>
    makeEvent({
      name: 'call.voided',
      id,
      source: '/test',
      time: new Date('2026-11-21T00:00:00Z'),
      data: { request_id: id, org: 'org_x', reason: 'answer_lost' },
    });
  const storedIds = async () => {
    const consumer = await bus.js.consumers.get(EVENTS_STREAM);
    const { messages } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
    const ids: string[] = [];
    if (messages === 0) return ids;
    for await (const message of await consumer.fetch({ max_messages: messages }))
      ids.push(message.json<Event>().id);
    return ids;
  };

  test('keeps what it cannot publish on disk; a later process publishes it, once', async () => {
    await ensureEventsStream(bus);
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const first = await createEventPublisher({ bus, outboxDir, logger });
    await first.publish(event('evt_1'));
    await expect.poll(() => first.waiting).toBe(0); // on a busy machine it may have gone by way of the disk
    await nats.kill9();
    await first.publish(event('evt_2'));
    await first.publish(event('evt_3'));
    expect(first.waiting).toBe(2);
    await first.close(); // as far as the disk is concerned, this process is gone
    await nats.restart();
    const second = await createEventPublisher({ bus, outboxDir, logger });
    await expect.poll(() => second.waiting, { timeout: BUSY_MS }).toBe(0);
    expect((await storedIds()).sort()).toEqual(['evt_1', 'evt_2', 'evt_3']);
    await second.close();
  }, 60_000);

  test('that closes keeps what nobody has acknowledged yet', async () => {
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const publisher = await createEventPublisher({ bus, outboxDir, logger });
    await bus.jsm.streams.delete(EVENTS_STREAM); // the server lives, and acknowledges nothing
    const published = publisher.publish(event('evt_4'));
    await publisher.close();
    await published;
    await ensureEventsStream(bus);
    const next = await createEventPublisher({ bus, outboxDir, logger });
    await expect.poll(() => next.waiting, { timeout: BUSY_MS }).toBe(0);
    expect(await storedIds()).toEqual(['evt_4']);
    await next.close();
  }, 60_000);
});
