// Keys by their secrets, in a mirror of a real nats-server.
import { hash } from 'node:crypto';
import { type Bucket, type Bus, connectBus, type Mirror, mirrorBucket, openBucket } from '@switchyard/bus';
import { type KeyRecord, keyRecordKey, newId } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { KeysByHash } from './keys-by-hash.ts';

const ORG = 'org_a';
/** More than any step needs, also on a busy machine. */
const BUSY_MS = 60_000;
const STORM_MS = 200;
/** Twice the count at one per 5 ms. */
const QUESTIONS_MAX = (2 * STORM_MS) / 5;

let nats: TestServer;
let bus: Bus;
let bucket: Bucket<KeyRecord>;
let mirror: Mirror<KeyRecord>;
let keys: KeysByHash;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'edge', logger: makeLogger('test', 'silent') });
  bucket = await openBucket(bus, 'keys');
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});
beforeEach(async () => {
  mirror = await mirrorBucket(bus, bucket);
  keys = new KeysByHash(mirror);
});
afterEach(() => {
  vi.restoreAllMocks();
  mirror.close();
});

const current = (secret: string) => ({ hash: hash('sha256', secret), until: null });
const former = (secret: string) => ({ ...current(secret), until: '2030-01-01T00:00:00.000Z' });

async function addKey(secrets: KeyRecord['secrets']): Promise<string> {
  const id = newId('key');
  await bucket.create(keyRecordKey(ORG, id), {
    ...{ id, org: ORG, name: 'test', permissions: [], prefix: 'sy_test', secrets },
    ...{ created_at: '2026-11-21T00:00:00.000Z', expires_at: null },
  });
  return id;
}
/** Replaces the mirror by one that learns of no change until the promise is resolved. */
async function holdMirror(): Promise<PromiseWithResolvers<void>> {
  const held = Promise.withResolvers<void>();
  let loaded = false;
  const watch = bucket.kv.watch.bind(bucket.kv);
  vi.spyOn(bucket.kv, 'watch').mockImplementationOnce(async (options) => {
    const entries = await watch(options);
    const later = async function* () {
      for await (const entry of entries) {
        if (loaded) await held.promise;
        yield entry;
      }
    };
    return Object.assign(later(), { stop: () => entries.stop() }) as unknown as typeof entries;
  });
  mirror.close();
  mirror = await mirrorBucket(bus, bucket);
  loaded = true;
  keys = new KeysByHash(mirror);
  return held;
}

/** Sets how long lookups wait for new keys. */
function waitAtMost(ms: number): void {
  const caughtUp = mirror.caughtUp.bind(mirror);
  vi.spyOn(mirror, 'caughtUp').mockImplementation(() => caughtUp(ms));
}

const lookup = async (secret: string) => keys.lookup(hash('sha256', secret));
const makeStale = () => vi.spyOn(mirror, 'fresh', 'get').mockReturnValue(false);

test('a key that was created a moment ago is found, also before the mirror has it', async () => {
  for (let i = 0; i < 50; i++) {
    const id = await addKey([current(`new-${i}`)]);
    expect(await lookup(`new-${i}`)).toMatchObject({ id });
  }
  const held = await holdMirror();
  waitAtMost(BUSY_MS);
  const id = await addKey([current('late')]);
  const asked = vi.spyOn(bucket, 'lastRevision');
  const looking = lookup('late');
  await expect.poll(() => asked.mock.calls.length).toBe(1);
  await asked.mock.results[0]?.value;
  expect(mirror.peek(keyRecordKey(ORG, id))).toBeNull();
  held.resolve();
  expect(await looking).toMatchObject({ id });
});

test('a key is found under each of its secrets, with this one only, and from memory', async () => {
  const id = await addKey([current('b'), former('a')]);
  await lookup('a');
  for (const secret of [current('b'), former('a')])
    expect(keys.lookup(secret.hash)).toMatchObject({ id, secrets: [secret] });
  const again = new KeysByHash(mirror);
  expect(again.lookup(former('a').hash)).toMatchObject({ id, secrets: [former('a')] });
});

test('a secret that left the record is unknown, and the others stay', async () => {
  const id = await addKey([current('e'), former('d')]);
  await lookup('d');
  await bucket.change(keyRecordKey(ORG, id), (found) => found && { ...found.value, secrets: [current('e')] });
  await expect.poll(() => lookup('d')).toBeNull();
  expect(await lookup('e')).toMatchObject({ id });
  await bucket.delete(keyRecordKey(ORG, id));
  await expect.poll(() => lookup('e')).toBeNull();
});

test('unknown keys are refused with few questions to the bucket, however many are guessed', async () => {
  const asked = vi.spyOn(bucket, 'lastRevision');
  const read = vi.spyOn(bucket, 'get');
  const end = performance.now() + STORM_MS;
  const guess = async (from: number) => {
    for (let i = 0; performance.now() < end; i++) expect(await lookup(`guess-${from}-${i}`)).toBeNull();
  };
  await Promise.all(Array.from({ length: 100 }, (_, from) => guess(from)));
  expect(asked.mock.calls.length).toBeLessThan(QUESTIONS_MAX);
  expect(read).not.toHaveBeenCalled();
});

test('a stale mirror accepts a known key only as it is in the bucket', async () => {
  const [kept, revoked, rotated] = [
    await addKey([current('kept')]),
    await addKey([current('revoked')]),
    await addKey([current('rotated')]),
  ];
  for (const secret of ['kept', 'revoked', 'rotated']) expect(await lookup(secret)).not.toBeNull();
  mirror.close();
  makeStale();
  await bucket.change(keyRecordKey(ORG, kept), (found) => found && { ...found.value, name: 'changed' });
  await bucket.delete(keyRecordKey(ORG, revoked));
  const secrets = [current('next')];
  await bucket.change(keyRecordKey(ORG, rotated), (found) => found && { ...found.value, secrets });
  expect(await lookup('kept')).toMatchObject({ id: kept, name: 'changed' });
  expect(await lookup('revoked')).toBeNull();
  expect(await lookup('rotated')).toBeNull();
});

test('a mirror that receives nothing refuses to decide about unknown keys', async () => {
  mirror.close();
  waitAtMost(1);
  await addKey([current('unheard')]);
  await expect(lookup('unheard')).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
});

test('a bucket that cannot be read refuses to decide', async () => {
  const id = await addKey([current('known')]);
  expect(await lookup('known')).toMatchObject({ id });
  makeStale();
  await bus.jsm.streams.delete('KV_keys');
  const refused = { code: 'service_unavailable', status: 503 };
  await expect(lookup('known')).rejects.toMatchObject(refused);
  await expect(lookup('guess')).rejects.toMatchObject(refused);
  bucket = await openBucket(bus, 'keys');
});
