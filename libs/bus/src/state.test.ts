import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headers as natsHeaders } from '@nats-io/nats-core';
import {
  EVENTS_STREAM,
  type Event,
  type KeyRecord,
  makeEvent,
  REFUSALS_STREAM,
  ServiceError,
  type SpentToken,
  WEBHOOK_DELIVERIES_MAX,
  type WebhookDelivery,
} from '@switchyard/contracts';
import { onFullDisk, startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { usageEvent } from './__fixtures__/usage-event.ts';
import { BUCKETS } from './buckets.ts';
import {
  ADOPT_MS,
  type Bus,
  connectBus,
  createEventPublisher,
  ensureEventsStream,
  mirrorBucket,
  openBucket,
  RevisionConflict,
  takeLease,
} from './index.ts';
import { REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX } from './refused-rows.ts';

const logger = pino({ level: 'silent' });
/** Timeout for steps that take a second or two on an idle machine. */
const BUSY_MS = 60_000;
const RENEW_MS = BUCKETS.leases.ttlMs / 3;
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
  secrets: [],
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

  test('finds nothing under an invalid key, which a caller may have sent', async () => {
    const keys = await openBucket(bus, 'keys');
    await keys.create('org_x.key_1', record('key_1'));
    for (const key of ['org_x.*', 'org_x.>', '>', 'org_x.', '', 'org_x.a b', `org_x.${'x'.repeat(600)}`])
      expect(await keys.get(key), key).toBeNull();
    await keys.delete('org_x.key_1');
  });

  test('of computers lets the marker of a deleted key expire', async () => {
    const placements = await openBucket(bus, 'computer-placements');
    await placements.put('org_x.cmp_x', {
      ...{ id: 'cmp_x', org: 'org_x', key_id: 'key_x', host: 'host_x', image: 'test' },
      ...{ cpu: 1, memory_mb: 512, disk_gb: 1, created_at: '2026-11-21T00:00:00.000Z' },
      rates: { per_minute: '1', per_vcpu_minute: '0', per_gb_memory_minute: '0', per_gb_disk_minute: '0' },
    });
    expect((await placements.entriesByKey('org_x.>')).size).toBe(1);
    await placements.delete('org_x.cmp_x');
    const query = { last_by_subj: '$KV.computer-placements.org_x.cmp_x' };
    const marker = await bus.jsm.streams.getMessage('KV_computer-placements', query);
    expect(marker?.header.get('Nats-TTL')).toBe('60000ms');
    expect((await placements.entriesByKey('org_x.>')).size).toBe(0);
  });

  test.each(['keys', 'files', 'webhooks', 'provider-keys'] as const)(
    'of %s is not filled by the markers of deleted keys: they end after 7 days',
    async (name) => {
      const bucket = await openBucket(bus, name);
      await bucket.delete('gone');
      const query = { last_by_subj: `$KV.${name}.gone` };
      const marker = await bus.jsm.streams.getMessage(`KV_${name}`, query);
      expect(marker?.header.get('Nats-TTL')).toBe(`${7 * 24 * 3_600_000}ms`);
      expect((await bus.jsm.streams.info(`KV_${name}`)).config.allow_msg_ttl).toBe(true);
    },
  );

  test('loses no concurrent change, and creates an entry that is missing', async () => {
    const slots = await openBucket(bus, 'computer-slots');
    const ids = Array.from({ length: 20 }, (_, i) => `cmp_${i}`);
    await Promise.all(
      ids.map((id) =>
        slots.change('org_many', (entry) => ({ ...entry?.value, [id]: '2026-11-21T00:00:00.000Z' })),
      ),
    );
    expect(Object.keys((await slots.get('org_many'))?.value ?? {}).sort()).toEqual(ids.sort());
    const before = await slots.get('org_many');
    expect(await slots.change('org_many', () => null)).toEqual(before);
    await slots.delete('org_many');
  });

  test('lists all entries under a pattern, more than one request returns, without deleted ones', async () => {
    const slots = await openBucket(bus, 'computer-slots');
    const names = Array.from({ length: 1_100 }, (_, i) => `many.${i}`);
    for (let from = 0; from < names.length; from += 100)
      await Promise.all(names.slice(from, from + 100).map((name) => slots.put(name, {})));
    await slots.put('other', {});
    await slots.delete('many.7');
    expect((await slots.keys('many.*')).sort()).toEqual(names.filter((name) => name !== 'many.7').sort());
    expect(await slots.keys('none.>')).toEqual([]);
    expect(await slots.entries('other')).toEqual([{ key: 'other', value: {}, revision: expect.any(Number) }]);
  });

  test('misses no key that is written during a listing, and leaves no consumer behind', async () => {
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
  });
});

test('the history of a key has only its last values, without deletions, and leaves no consumer behind', async () => {
  const deliveries = await openBucket(bus, 'webhook-deliveries');
  expect(await deliveries.history('org_x.none')).toEqual([]);
  const attempt = (n: number): WebhookDelivery => ({
    object: 'webhook.delivery',
    event_id: 'req_x',
    event_type: 'call.completed',
    at: '2026-11-21T00:00:00.000Z',
    delivered: true,
    http_status: 200,
    message: null,
    duration_ms: n,
    next_attempt_at: null,
  });
  for (let n = 1; n <= 60; n += 1) await deliveries.put('org_x.whk_a', attempt(n));
  await deliveries.put('org_x.whk_b', attempt(1));
  const kept = await deliveries.history('org_x.whk_a');
  const last = Array.from({ length: WEBHOOK_DELIVERIES_MAX }, (_, n) => 61 - WEBHOOK_DELIVERIES_MAX + n);
  expect(kept.map(({ value }) => value.duration_ms)).toEqual(last);
  await deliveries.purge('org_x.whk_a');
  expect(await deliveries.history('org_x.whk_a')).toEqual([]);
  expect((await bus.jsm.streams.info('KV_webhook-deliveries')).state.consumer_count).toBe(0);
});

describe('a mirror', () => {
  test('sees a key added and removed, and reports the previous value', async () => {
    const keys = await openBucket(bus, 'keys');
    await keys.put('before', record('key_before'));
    const mirror = await mirrorBucket(bus, keys);
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

  test('watches again when the client has ended its watch', async () => {
    const keys = await openBucket(bus, 'keys');
    await keys.put('earlier', record('key_earlier'));
    const watched = vi.spyOn(keys.kv, 'watch');
    const mirror = await mirrorBucket(bus, keys);
    const loadedAt = performance.now();
    (await watched.mock.results[0]?.value)?.stop();
    await keys.put('later', record('key_later'));
    await expect.poll(() => mirror.peek('later')).toMatchObject({ id: 'key_later' });
    expect(watched).toHaveBeenCalledTimes(2);
    const sinceMs = performance.now() - loadedAt;
    expect(mirror.ageMs('earlier')).toBeGreaterThanOrEqual(sinceMs); // it was received before
    watched.mockRestore();
    mirror.close();
  });

  test('knows how long ago a value arrived, whatever its writer’s clock says', async () => {
    const keys = await openBucket(bus, 'keys');
    await keys.put('aged', { ...record('key_aged'), created_at: '2001-01-01T00:00:00.000Z' });
    const loadedAfter = performance.now();
    const mirror = await mirrorBucket(bus, keys);
    expect(mirror.ageMs('aged')).toBeLessThanOrEqual(performance.now() - loadedAfter);
    const writtenAfter = performance.now();
    await keys.put('aged', record('key_aged'));
    await mirror.caughtUp(BUSY_MS);
    expect(mirror.ageMs('aged')).toBeLessThanOrEqual(performance.now() - writtenAfter);
    await keys.delete('aged');
    await mirror.caughtUp(BUSY_MS);
    expect(mirror.ageMs('aged')).toBe(Number.POSITIVE_INFINITY);
    mirror.close();
  });

  test('reads the bucket for keys that have not arrived yet', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    await keys.put('new', record('key_new'));
    expect(await mirror.lookup('new')).toMatchObject({ id: 'key_new' });
    await keys.delete('new');
    mirror.close();
  });

  test.each([
    ['fresh', true],
    ['stale', false],
  ])('stops reading the bucket for a flood of keys that do not exist: it is %s', async (_, isFresh) => {
    const mirror = await mirrorBucket(bus, await openBucket(bus, 'keys'));
    await expect.poll(() => mirror.fresh).toBe(isFresh);
    const answers = Array.from({ length: 1_000 }, (_, n) => mirror.lookup(`guessed_${n}`));
    const read = await Promise.all(answers.filter((answer) => answer instanceof Promise));
    expect(read.length).toBeGreaterThan(0);
    expect(read.length).toBeLessThan(answers.length);
    mirror.close();
  });

  test('has the values under a prefix, and no others', async () => {
    const keys = await openBucket(bus, 'keys');
    const put = ['org_p.key_1', 'org_p.key_2', 'org_pp.key_3'];
    for (const key of put) await keys.put(key, record(key.slice(key.indexOf('.') + 1)));
    const mirror = await mirrorBucket(bus, keys);
    const ids = mirror.valuesUnder('org_p.').map(({ id }) => id);
    expect(ids.sort()).toEqual(['key_1', 'key_2']);
    mirror.close();
    for (const key of put) await keys.purge(key);
  });

  test('keeps only the values it is to keep, from its start on, and reports one that is no longer kept', async () => {
    const keys = await openBucket(bus, 'keys');
    const put = (key: string, name: string) => keys.put(key, { ...record(`key_${key}`), name });
    for (const key of ['ends', 'stays']) await put(key, 'open');
    await put('ended', 'over');
    const mirror = await mirrorBucket(bus, keys, { keeps: ({ name }) => name === 'open' });
    const kept = () => mirror.entries().map(({ key }) => key);
    expect(kept().sort()).toEqual(['ends', 'stays']);
    const changes: unknown[] = [];
    mirror.onChange((key, value, previous) => changes.push([key, value?.name, previous?.name]));
    await put('ends', 'over');
    await put('ended', 'over again');
    const revision = await keys.put('stays', { ...record('key_stays'), name: 'open', prefix: 'sy_other' });
    await mirror.caughtUp(BUSY_MS);
    expect(changes).toEqual([
      ['ends', undefined, 'open'],
      ['stays', 'open', 'open'],
    ]);
    expect(mirror.entries()).toMatchObject([{ key: 'stays', revision }]);
    await mirror.load();
    expect(kept()).toEqual(['stays']);
    mirror.close();
    for (const key of ['ends', 'stays', 'ended']) await keys.purge(key);
  });

  test('has caught up when it has everything that was in the bucket at the time of the call', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    for (let i = 0; i < 20; i++) {
      await keys.put(`new-${i}`, record(`key_new_${i}`));
      await mirror.caughtUp(BUSY_MS);
      expect(mirror.peek(`new-${i}`)).toMatchObject({ id: `key_new_${i}` });
      await keys.delete(`new-${i}`);
      await mirror.caughtUp(BUSY_MS);
      expect(mirror.peek(`new-${i}`)).toBeNull();
    }
    mirror.close();
  });

  test('answers any number of concurrent caughtUp calls with one or two requests to the bucket', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    const question = vi.spyOn(keys, 'lastRevision');
    const asked = Array.from({ length: 1_000 }, () => mirror.caughtUp(BUSY_MS));
    // Calls made after a record was written must not share an answer from before the write.
    await keys.put('amid', record('key_amid'));
    asked.push(...Array.from({ length: 1_000 }, () => mirror.caughtUp(BUSY_MS)));
    await asked.at(-1);
    expect(mirror.peek('amid')).toMatchObject({ id: 'key_amid' });
    await Promise.all(asked);
    expect(question.mock.calls.length).toBeLessThanOrEqual(4);
    await keys.delete('amid');
    mirror.close();
  });

  test('reads the bucket again after a failed request', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    vi.spyOn(keys, 'lastRevision').mockRejectedValueOnce(
      new ServiceError('service_unavailable', 'no answer'),
    );
    const [first, second] = await Promise.allSettled([mirror.caughtUp(BUSY_MS), mirror.caughtUp(BUSY_MS)]);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'service_unavailable' } });
    expect(second).toMatchObject({ status: 'fulfilled' });
    await mirror.caughtUp(BUSY_MS);
    mirror.close();
  });

  test('that receives nothing is not waited for', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    mirror.close();
    await keys.put('unheard', record('key_unheard'));
    await expect(mirror.caughtUp(1)).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
    expect(mirror.peek('unheard')).toBeNull();
    await keys.delete('unheard');
  });

  test('reads what arrived during a pause of its process before it gives up', async () => {
    const keys = await openBucket(bus, 'keys');
    const [arrived, paused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const watch = keys.kv.watch.bind(keys.kv);
    vi.spyOn(keys.kv, 'watch').mockImplementationOnce(async (options) => {
      const entries = await watch(options);
      const delivered = async function* () {
        for await (const entry of entries) {
          if (entry.key === 'paused') {
            arrived.resolve();
            await paused.promise;
          }
          yield entry;
        }
      };
      return Object.assign(delivered(), { stop: () => entries.stop() }) as unknown as typeof entries;
    });
    const mirror = await mirrorBucket(bus, keys);
    await keys.put('paused', record('key_paused'));
    await arrived.promise;
    const last = await keys.lastRevision();
    vi.spyOn(keys, 'lastRevision').mockResolvedValueOnce(last);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const caughtUp = mirror.caughtUp(1);
      await new Promise(setImmediate);
      vi.advanceTimersByTime(1);
      paused.resolve();
      await caughtUp;
    } finally {
      vi.useRealTimers();
    }
    expect(mirror.peek('paused')).toMatchObject({ id: 'key_paused' });
    await keys.delete('paused');
    mirror.close();
  });

  test('does not trust its memory without a tick, and does again when the tick is back', async () => {
    const keys = await openBucket(bus, 'keys');
    const mirror = await mirrorBucket(bus, keys);
    /** Ticks until the mirror is fresh. */
    const trusted = async () => {
      const ticking = setInterval(() => void keys.tick('test').catch(() => {}), 100);
      await expect.poll(() => mirror.fresh).toBe(true);
      clearInterval(ticking);
    };
    await trusted();
    await expect.poll(() => mirror.fresh).toBe(false);
    await trusted();
    mirror.close();
  });

  const endWatches = async () => {
    for await (const { name } of bus.jsm.consumers.list('KV_keys'))
      await bus.jsm.consumers.delete('KV_keys', name);
  };

  test.each([
    ['nothing has changed', false],
    ['the latest entries have left the bucket since they were written', true],
  ])(
    'whose watch is silent does not reload all entries while %s, and does after a change that it missed',
    async (_, left) => {
      const keys = await openBucket(bus, 'keys');
      await keys.put('quiet', record('key_quiet'));
      if (left) await bus.jsm.streams.deleteMessage('KV_keys', await keys.put('left', record('key_left')));
      const mirror = await mirrorBucket(bus, keys);
      await endWatches();
      const [reloaded, compared] = [vi.spyOn(keys.kv, 'watch'), vi.spyOn(keys, 'lastRevision')];
      const enough = () => Math.max(reloaded.mock.calls.length, compared.mock.calls.length) > 1;
      await vi.waitUntil(enough, { timeout: BUSY_MS });
      expect(reloaded).not.toHaveBeenCalled();
      await keys.put('missed', record('key_missed'));
      await expect.poll(() => mirror.peek('missed')).toMatchObject({ id: 'key_missed' });
      mirror.close();
      await Promise.all(['quiet', 'missed'].map((key) => keys.purge(key)));
    },
  );

  test('that is loaded again does not report a value as removed that is written meanwhile', async () => {
    const keys = await openBucket(bus, 'keys');
    for (const key of ['early', 'late']) await keys.put(key, record(`key_${key}`));
    const mirror = await mirrorBucket(bus, keys);
    const removed: string[] = [];
    mirror.onChange((key, value) => {
      if (value === null) removed.push(key);
    });
    const watch = keys.kv.watch.bind(keys.kv);
    vi.spyOn(keys.kv, 'watch').mockImplementationOnce(async (options) => {
      await keys.put('early', record('key_early_2'));
      return watch(options);
    });
    await mirror.load();
    await mirror.caughtUp(BUSY_MS);
    expect(mirror.peek('early')).toMatchObject({ id: 'key_early_2' });
    expect(removed).toEqual([]);
    mirror.close();
    for (const key of ['early', 'late']) await keys.purge(key);
  });

  test.each([
    ['is empty', 0],
    ['has fewer changes', 1],
    ['has more changes', 5],
  ])(
    'notices that its bucket was deleted and created again, and follows the new one: it %s',
    async (_, changes) => {
      await openBucket(bus, 'keys');
      await bus.jsm.streams.delete('KV_keys');
      const keys = await openBucket(bus, 'keys');
      for (let n = 0; n < 3; n += 1) await keys.put('former', record(`key_${n}`));
      const mirror = await mirrorBucket(bus, keys);
      await bus.jsm.streams.delete('KV_keys');
      await openBucket(bus, 'keys');
      for (let n = 0; n < changes; n += 1) await keys.put('new', record(`key_new_${n}`));
      await expect.poll(() => mirror.peek('former')).toBeNull();
      await keys.put('later', record('key_later'));
      await mirror.caughtUp(BUSY_MS);
      expect(mirror.peek('later')).toMatchObject({ id: 'key_later' });
      expect(mirror.entries()).toHaveLength(changes === 0 ? 1 : 2);
      mirror.close();
      for (const key of ['new', 'later']) await keys.purge(key);
    },
  );

  test('forgets a value after the bucket did, and reports it, but not one that was written again', async () => {
    const tokens = await openBucket(bus, 'spent-tokens');
    const token: SpentToken = { at: '2026-11-21T00:00:00.000Z', org: 'org_x' };
    for (const id of ['again', 'once']) await tokens.put(id, token);
    let now = 0;
    const mirror = await mirrorBucket(bus, tokens, { clock: { monotonic: () => now } });
    const forgotten: string[] = [];
    mirror.onChange((id, value) => {
      if (value === null) forgotten.push(id);
    });
    now = tokens.ttlMs;
    await tokens.put('again', token);
    await mirror.caughtUp(BUSY_MS);
    now = 2 * tokens.ttlMs;
    await expect.poll(() => mirror.peek('once')).toBeNull();
    expect(mirror.entries()).toMatchObject([{ key: 'again', value: token }]);
    expect(mirror.ageMs('again')).toBe(tokens.ttlMs);
    expect(forgotten).toEqual(['once']);
    mirror.close();
  });
});

describe('an answer of nats-server that it stores under a key', () => {
  const direct = (bucket: string, key: string) => `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.${key}`;

  test.each([
    ['of its API', 'by-api', '$JS.API.STREAM.INFO.KV_keys'],
    ['with the entry of another key', 'by-entry', direct('keys', 'original')],
    ['with a value that no service wrote', 'by-value', direct('keys', 'headless')],
  ])('is no entry: an answer %s', async (_, key, subject) => {
    const keys = await openBucket(bus, 'keys');
    await keys.put('original', record('key_original'));
    await bus.js.publish('$KV.keys.headless', JSON.stringify(record('key_headless')));
    const written = await keys.put(key, record('key_true'));
    const mirror = await mirrorBucket(bus, keys);
    bus.nc.publish(subject, '', { reply: `$KV.keys.${key}` });
    const query = { last_by_subj: `$KV.keys.${key}` };
    const last = async () => (await bus.jsm.streams.getMessage('KV_keys', query))?.seq;
    await expect.poll(last).toBeGreaterThan(written);
    await keys.put('after', record('key_after'));
    await expect.poll(() => mirror.peek('after')?.id).toBe('key_after');
    expect(mirror.peek(key)?.id).toBe('key_true');
    expect(mirror.peek('headless')).toBeNull();
    expect(await keys.get(key)).toBeNull();
    expect(await keys.entries(key)).toEqual([]);
    expect(await keys.history(key)).toEqual([]);
    mirror.close();
    await Promise.all([key, 'original', 'headless', 'after'].map((one) => keys.purge(one)));
    expect(await keys.create(key, record('key_again'))).toBeGreaterThan(0);
    await keys.purge(key);
  });

  test('is not seen in the marker that the server leaves when that of a deleted key expires', async () => {
    const warned = vi.spyOn(logger, 'warn');
    const placements = await openBucket(bus, 'computer-placements');
    const subject = '$KV.computer-placements.org_x.cmp_x';
    const marker = natsHeaders();
    marker.set('KV-Operation', 'DEL');
    marker.set('Nats-TTL', '1s'); // the shortest that the server takes
    const watch = await placements.kv.watch({ key: 'org_x.cmp_x' });
    const options = { headers: marker, expect: { streamName: 'KV_computer-placements' } };
    const { seq } = await bus.js.publish(subject, '', options);
    for await (const entry of watch) {
      placements.isGenuine(entry);
      if (entry.revision > seq) break;
    }
    expect(await placements.get('org_x.cmp_x')).toBeNull();
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  test('is refused by JetStream when it is an entry of another bucket', async () => {
    const keys = await openBucket(bus, 'keys');
    const orders = await openBucket(bus, 'host-orders');
    await orders.put('host_a', { order: 'drain', at: '2026-11-21T00:00:00.000Z' });
    const written = await keys.put('by-bucket', record('key_true'));
    bus.nc.publish(direct('host-orders', 'host_a'), '', { reply: '$KV.keys.by-bucket' });
    bus.nc.publish('$JS.API.STREAM.INFO.KV_keys', '', { reply: '$KV.keys.later' }); // answered after it
    const query = { last_by_subj: '$KV.keys.later' };
    await expect.poll(async () => await bus.jsm.streams.getMessage('KV_keys', query)).not.toBeNull();
    expect(await keys.get('by-bucket')).toMatchObject({ revision: written });
    await Promise.all(['by-bucket', 'later'].map((one) => keys.purge(one)));
  });
});

describe('a lease', () => {
  test('that is released during a renewal is free at once', async () => {
    const asked = vi.spyOn(bus.nc, 'request');
    const asksOfLease = () => asked.mock.calls.filter(([subject]) => subject === '$KV.leases.busy').length;
    const lease = await takeLease({ bus, name: 'busy', onLost: () => {} });
    const before = asksOfLease();
    process.kill(nats.pid, 'SIGSTOP'); // keeps a renewal in flight
    await expect.poll(asksOfLease).toBeGreaterThan(before);
    const released = lease?.release();
    process.kill(nats.pid, 'SIGCONT');
    await released;
    asked.mockRestore();
    expect(await (await openBucket(bus, 'leases')).get('busy')).toBeNull();
  });

  /** The server gets the next renewal; its answer is lost. Resolves when the server has it. */
  const loseAnswer = (name: string) => {
    const stored = Promise.withResolvers<void>();
    const publish = bus.js.publish.bind(bus.js);
    const asked = vi.spyOn(bus.js, 'publish').mockImplementation(async (subject, ...message) => {
      const answer = await publish(subject, ...message);
      if (subject !== `$KV.leases.${name}`) return answer;
      asked.mockRestore();
      stored.resolve();
      return new Promise(() => {});
    });
    return stored.promise;
  };

  test('outlasts a renewal whose answer is lost', async () => {
    const onLost = vi.fn();
    const bucket = await openBucket(bus, 'leases');
    // A pause of this process must not count as time in which the lease was not renewed.
    vi.useFakeTimers({
      toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
    });
    try {
      const lease = await takeLease({ bus, name: 'slow', onLost });
      const lost = loseAnswer('slow');
      await vi.advanceTimersByTimeAsync(RENEW_MS);
      await lost;
      const published = vi.spyOn(bus.js, 'publish');
      const renewals = () => published.mock.settledResults.filter(({ type }) => type === 'fulfilled').length;
      for (const renewed of [1, 2]) {
        await vi.advanceTimersByTimeAsync(RENEW_MS);
        await expect.poll(renewals).toBe(renewed);
      }
      published.mockRestore();
      expect(onLost).not.toHaveBeenCalled();
      await lease?.release();
    } finally {
      vi.useRealTimers();
    }
    expect(await bucket.get('slow')).toBeNull();
  });

  test('that was granted late is held no longer than the server keeps it', async () => {
    const onLost = vi.fn();
    vi.useFakeTimers({
      toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
    });
    try {
      const publish = bus.js.publish.bind(bus.js);
      vi.spyOn(bus.js, 'publish').mockImplementationOnce(async (...message) => {
        const answer = await publish(...message);
        vi.advanceTimersByTime(BUCKETS.leases.ttlMs - 1_000); // the answer was on its way
        return answer;
      });
      await takeLease({ bus, name: 'late', onLost });
      vi.advanceTimersByTime(1_000);
      expect(onLost).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
    await (await openBucket(bus, 'leases')).delete('late');
  });

  test('that is released after the answer to a renewal was lost is free at once', async () => {
    const lease = await takeLease({ bus, name: 'unheard', onLost: () => {} });
    await loseAnswer('unheard');
    await lease?.release();
    expect(await (await openBucket(bus, 'leases')).get('unheard')).toBeNull();
  });
});

test('an existing stream gets the current subjects; settings of its operator stay', async () => {
  await bus.jsm.streams.add({ name: EVENTS_STREAM, subjects: ['event.v1.>'], max_bytes: 1_000_000 });
  await ensureEventsStream(bus);
  const { config } = await bus.jsm.streams.info(EVENTS_STREAM);
  expect(config).toMatchObject({ subjects: ['event.v1.*.*.*'], max_bytes: 1_000_000 });
  await bus.jsm.streams.delete(EVENTS_STREAM);
});

describe('the event publisher', () => {
  const storedIds = async () => {
    const consumer = await bus.js.consumers.get(EVENTS_STREAM);
    const { messages } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
    const ids: string[] = [];
    if (messages === 0) return ids;
    for await (const message of await consumer.fetch({ max_messages: messages }))
      ids.push(message.json<Event>().id);
    return ids;
  };

  test('keeps unpublished events on disk; a later process publishes them once', async () => {
    await ensureEventsStream(bus);
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const first = await createEventPublisher({ bus, outboxDir, logger });
    await first.publish(usageEvent('evt_1'));
    await expect.poll(() => first.waiting).toBe(0); // on a busy machine the event may go through the outbox
    await nats.kill9();
    await first.publish(usageEvent('evt_2'));
    await first.publish(usageEvent('evt_3'));
    expect(first.waiting).toBe(2);
    await first.close(); // releases the outbox, as if this process were gone
    await nats.restart();
    const second = await createEventPublisher({ bus, outboxDir, logger });
    await expect.poll(() => second.waiting).toBe(0);
    expect((await storedIds()).sort()).toEqual(['evt_1', 'evt_2', 'evt_3']);
    await second.close();
  });

  test('keeps unacknowledged events when it closes', async () => {
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const publisher = await createEventPublisher({ bus, outboxDir, logger });
    await bus.jsm.streams.delete(EVENTS_STREAM); // the server is up but acknowledges nothing
    const published = publisher.publish(usageEvent('evt_4'));
    await publisher.close();
    await published;
    await ensureEventsStream(bus);
    const next = await createEventPublisher({ bus, outboxDir, logger });
    await expect.poll(() => next.waiting).toBe(0);
    expect(await storedIds()).toEqual(['evt_4']);
    await next.close();
  });

  const refusal = (id: string, key_id: string): Event =>
    makeEvent({
      name: 'call.refused',
      id,
      source: '/test',
      time: new Date('2026-11-21T00:00:00Z'),
      data: {
        ...{ request_id: id, org: 'org_x', key_id, type: null, method: 'POST', path: '/v1/rerank' },
        ...{ requested_model: null, computer_id: null, http_status: 400, error_code: 'invalid_json' },
        latency_ms: 1,
      },
    });

  test('publishes from memory when the disk is full, and reports that the event is not durable', async () => {
    await ensureEventsStream(bus);
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    let connected = false;
    const cut = Object.create(bus, { connected: { get: () => connected } }) as Bus;
    const publisher = await createEventPublisher({ bus: cut, outboxDir, logger });
    await expect(onFullDisk(() => publisher.publish(usageEvent('evt_5')))).rejects.toThrow();
    expect(publisher.waiting).toBe(1);
    connected = true;
    await expect.poll(() => publisher.waiting).toBe(0);
    expect(await storedIds()).toContain('evt_5');
    await publisher.close();
  });

  test('takes over the outboxes of dead processes when there is room for them again', async () => {
    await ensureEventsStream(bus);
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const offline = { bus: { connected: false } as Bus, outboxDir, logger };
    const dead = [await createEventPublisher(offline), await createEventPublisher(offline)];
    for (const [at, publisher] of dead.entries()) await publisher.publish(usageEvent(`evt_dead_${at}`));
    for (const publisher of dead) await publisher.close();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const next = await onFullDisk(() => createEventPublisher({ bus, outboxDir, logger }));
      expect(next.waiting).toBe(0);
      vi.advanceTimersByTime(ADOPT_MS);
      expect(next.waiting).toBe(2);
      const stillWaiting = () => {
        vi.advanceTimersByTime(ADOPT_MS); // longer than the pause between two attempts
        return next.waiting;
      };
      await expect.poll(stillWaiting).toBe(0);
      await next.close();
      expect(await storedIds()).toEqual(expect.arrayContaining(['evt_dead_0', 'evt_dead_1']));
    } finally {
      vi.useRealTimers();
    }
  });

  test('keeps a bounded number of refused calls while JetStream is unavailable', async () => {
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const publisher = await createEventPublisher({ bus: { connected: false } as Bus, outboxDir, logger });
    const flood = Array.from({ length: 12_000 }, (_, i) =>
      publisher.publish(refusal(`req_${i}`, `key_${i % 100}`)),
    );
    await Promise.all(flood);
    expect([publisher.waiting, publisher.refusalsDropped]).toEqual([10_000, 2_000]);
    await publisher.publish(usageEvent('evt_6'));
    expect(publisher.waiting).toBe(10_001);
    await publisher.close();
  });

  test('keeps refused calls out of the stream of charges, with a limit per key and minute', async () => {
    await ensureEventsStream(bus);
    const { last_seq: before } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const publisher = await createEventPublisher({ bus, outboxDir, logger });
    const flood = Array.from({ length: 2 * REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX + 1 }, (_, i) =>
      publisher.publish(refusal(`req_${i}`, 'key_flood')),
    );
    await Promise.all([...flood, publisher.publish(refusal('req_other', 'key_other'))]);
    await expect.poll(() => publisher.waiting).toBe(0);
    const refusals = await bus.jsm.streams.info(REFUSALS_STREAM, { subjects_filter: '>' });
    expect(refusals.state.subjects).toEqual({
      'event.v1.call.refused.org_x.refused': flood.length + 1 - publisher.refusalsDropped,
    });
    expect(publisher.refusalsDropped).toBeGreaterThan(0);
    expect((await bus.jsm.streams.info(EVENTS_STREAM)).state.last_seq).toBe(before);
    await publisher.close();
  });

  test('never delays a charge behind a refused call that no stream accepts', async () => {
    const outboxDir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const publisher = await createEventPublisher({ bus, outboxDir, logger });
    const { config } = await bus.jsm.streams.info(EVENTS_STREAM);
    for (const stream of [EVENTS_STREAM, REFUSALS_STREAM]) await bus.jsm.streams.delete(stream);
    await publisher.publish(refusal('req_first', 'key_first'));
    await publisher.publish(usageEvent('evt_behind'));
    expect(publisher.waiting).toBe(2);
    await bus.jsm.streams.add(config);
    await expect.poll(storedIds).toEqual(['evt_behind']);
    await ensureEventsStream(bus);
    await expect.poll(() => publisher.waiting).toBe(0);
    await publisher.close();
  });
});
