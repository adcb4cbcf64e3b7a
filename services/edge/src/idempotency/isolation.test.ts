// Kept answers are visible only to the API key that asked, and take at most the org's share of the store.
import { randomUUID } from 'node:crypto';
import { openBucket, serve } from '@switchyard/bus';
import {
  DEFAULT_ORG,
  IDEMPOTENCY_ORG_BYTES_MAX,
  IDEMPOTENCY_RECORD_BYTES,
  type KeyRecord,
  modelCallSubject,
  newId,
  type Permission,
} from '@switchyard/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { STORE_LOOK_EVERY_MS } from './org-quota.ts';

let edge: TestEdge;
let calls = 0;
/** Makes the answers longer. */
let padding = '';

beforeAll(async () => {
  edge = await startTestEdge();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), async (call) => {
    await call.readBody();
    calls += 1;
    call.setHead({ status: 200, content_type: 'application/json' });
    call.end({ cost: '0.000001' }, Buffer.from(JSON.stringify({ n: calls, padding })));
  });
});
afterAll(() => edge?.stop());
beforeEach(() => {
  calls = 0;
  padding = '';
});

async function post(key: string, idempotencyKey: string, models: Record<string, unknown>, query = '') {
  const answered = await fetch(`${edge.url}/v1/chat/completions${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify({ ...models, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  const json = (await answered.json()) as { n?: number; error?: { code: string; details?: unknown } };
  return { status: answered.status, headers: Object.fromEntries(answered.headers), json };
}

const DEAR = { model: 'acme/dear' };
const refusedAs = (status: number, code: string) => ({ status, json: { error: { code } } });

test('another key of the org gets no answer under the same Idempotency-Key, and runs nothing', async () => {
  const first = await edge.addKey();
  const other = await edge.addKey(['models:write'], { models: ['acme/cheap'] });
  const id = randomUUID();
  expect(await post(first, id, DEAR)).toMatchObject({ status: 200, json: { n: 1 } });
  expect(await post(other, id, DEAR)).toMatchObject(refusedAs(409, 'idempotency_conflict'));
  expect(await post(first, id, DEAR)).toMatchObject({ status: 200, json: { n: 1 } });
  expect(calls).toBe(1);
});

/** Changes a key while an answer of `body` is kept under it, and repeats the request until the edge sees the change. */
async function repeatAfter(change: Partial<KeyRecord>, body: Record<string, unknown>) {
  const key = await edge.addKey();
  const id = randomUUID();
  expect(await post(key, id, body)).toMatchObject({ status: 200, json: { n: 1 } });
  await edge.changeKey(key, change);
  return { repeat: () => post(key, id, body) };
}

test.each<[string, Partial<KeyRecord>, Record<string, unknown>, string]>([
  ['its model', { models: ['acme/cheap'] }, DEAR, 'model_not_allowed'],
  [
    'a model that may have answered',
    { models: ['acme/cheap'] },
    { models: ['acme/cheap', 'acme/dear'] },
    'model_not_allowed',
  ],
  ['its endpoint', { permissions: ['usage:read'] as Permission[] }, DEAR, 'permission_denied'],
])('a key that may no longer use %s gets no kept answer', async (_what, change, body, code) => {
  const { repeat } = await repeatAfter(change, body);
  await expect.poll(repeat).toMatchObject(refusedAs(403, code));
  expect(calls).toBe(1);
});

test('an org over its quota of kept answers is refused before anything runs; its answers and other orgs stay', async () => {
  const org = newId('org');
  const [full, neighbour] = await Promise.all([
    edge.addKey(['models:write'], { org }),
    edge.addKey(['models:write'], { org: DEFAULT_ORG }),
  ]);
  const kept = randomUUID();
  expect(await post(full, kept, DEAR)).toMatchObject({ status: 200, json: { n: 1 } });
  const usage = await openBucket(edge.bus, 'idempotency-usage');
  const hour = Math.floor(edge.clock.now() / 3_600_000);
  await expect.poll(() => usage.get(org)).not.toBeNull();
  // Another edge has kept answers for the whole quota.
  await usage.put(org, { bytes_by_hour: { [hour]: IDEMPOTENCY_ORG_BYTES_MAX } });
  const ask = async () => (await post(full, randomUUID(), DEAR)).json.error?.code;
  await expect.poll(ask).toBe('idempotency_quota_exceeded');
  const before = calls;
  expect(await post(full, randomUUID(), DEAR)).toMatchObject({
    ...refusedAs(429, 'idempotency_quota_exceeded'),
    headers: { 'x-should-retry': 'false' },
  });
  expect(await post(full, kept, DEAR)).toMatchObject({ status: 200, json: { n: 1 } });
  expect(calls).toBe(before);
  expect((await post(neighbour, randomUUID(), DEAR)).status).toBe(200);
});

test('the quota of an org counts every byte that is stored, and a long query is not stored', async () => {
  const org = newId('org');
  const key = await edge.addKey(['models:write'], { org });
  const [records, usage] = await Promise.all([
    openBucket(edge.bus, 'idempotency'),
    openBucket(edge.bus, 'idempotency-usage'),
  ]);
  const stored = async () => {
    const entries = await records.entries();
    const ours = entries.filter(({ value }) => value.org === org);
    return ours.reduce((sum, { value }) => sum + JSON.stringify(value).length, 0);
  };
  const counted = async () => {
    const hours = Object.values((await usage.get(org))?.value.bytes_by_hour ?? {});
    return hours.reduce((sum, bytes) => sum + bytes, 0);
  };
  expect((await post(key, randomUUID(), DEAR, `?q=${'x'.repeat(15_000)}`)).status).toBe(200);
  expect(await stored()).toBeLessThan(2 * IDEMPOTENCY_RECORD_BYTES);
  padding = 'x'.repeat(200_000);
  expect((await post(key, randomUUID(), DEAR)).status).toBe(200);
  const bytes = await stored();
  expect(bytes).toBeGreaterThan(padding.length * (4 / 3));
  await expect.poll(counted).toBeGreaterThanOrEqual(bytes);
});

test('an org cannot take the whole store from the others', async () => {
  const [greedy, modest] = await Promise.all([
    edge.addKey(['models:write'], { org: newId('org') }),
    edge.addKey(['models:write'], { org: newId('org') }),
  ]);
  const stream = 'KV_idempotency';
  const { config, state } = await edge.bus.jsm.streams.info(stream);
  await edge.bus.jsm.streams.update(stream, { max_bytes: state.bytes + 500_000 });
  padding = 'x'.repeat(20_000);
  const asked: number[] = [];
  while (asked.length < 20) {
    edge.clock.advance(STORE_LOOK_EVERY_MS);
    asked.push((await post(greedy, randomUUID(), DEAR)).status);
  }
  expect([asked[0], asked.at(-1)]).toEqual([200, 429]);
  const kept = randomUUID();
  const first = await post(modest, kept, DEAR);
  expect(await post(modest, kept, DEAR)).toMatchObject({ status: 200, json: first.json });
  await edge.bus.jsm.streams.update(stream, { max_bytes: config.max_bytes });
});
