// Keys on the full stack: another secret for the same key, what a key has spent, and that nothing continues under a
// key that has ended.
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { untilBooked } from './__fixtures__/until-booked.ts';

let upstream: Upstream;
let stack: TestStack;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [
    chatModel('acme/plain', upstream.url, 'plain'),
    chatModel('acme/drips', upstream.url, 'drips+gap-60+megabytes-64'), // a minute
  ];
  stack = await startStack({
    env: {
      SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models }),
      SWITCHYARD_COMPUTERS: 'off',
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

beforeEach(untilMidnightIsFar);

/** Long enough to open a stream with the key on a busy machine. */
const KEY_LIFE_MS = 20_000;

const messages = [{ role: 'user', content: 'Hello!' }];

interface Key {
  id: string;
  org: string;
  permissions: string[];
  key: string;
  name: string;
  limit: { amount: number; interval: string } | null;
  former_until: string;
  spent: number;
  held: number;
  window: { starts_at: string; ends_at: string };
  last_used_at: string | null;
  error: { code: string; message: string; param: string | null };
  usage: { cost: number };
}

async function api(method: string, path: string, body?: unknown, key = stack.key) {
  const response = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const requestId = response.headers.get('x-request-id');
  return { status: response.status, requestId, json: (await response.json()) as Key };
}

const newKey = async (more: object = {}) =>
  (await api('POST', '/v1/keys', { name: 'a', permissions: ['models:write'], ...more })).json;
const booked = () => untilBooked(stack.url, stack.key);
const chat = (key: string) => api('POST', '/v1/chat/completions', { model: 'acme/plain', messages }, key);
const rotate = (id: string, grace_minutes: number, key?: string) =>
  api('POST', `/v1/keys/${id}/rotate`, { grace_minutes }, key);

async function openStream(key: string): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/drips', stream: true, messages }),
  });
}

async function endOf(stream: Response): Promise<unknown> {
  const last = (await stream.text()).trim().split('\n\n').at(-1) ?? '';
  return JSON.parse(last.slice('data: '.length));
}

describe('a key that is rotated', () => {
  test('keeps its id, its limit and what it has spent; both secrets work during the grace', async () => {
    const made = await newKey({ limit: { amount: 1, interval: 'day' } });
    const first = await chat(made.key);
    const { status, json: rotated } = await rotate(made.id, 60);
    expect([status, rotated.id, rotated.limit]).toEqual([200, made.id, made.limit]);
    const [second, third] = [await chat(rotated.key), await chat(made.key)];
    expect([second.status, third.status]).toEqual([200, 200]);
    const cost = [first, second, third].reduce((sum, { json }) => sum + Math.round(json.usage.cost * 1e9), 0);
    await booked();
    expect((await api('GET', `/v1/keys/${made.id}`)).json).toMatchObject({ spent: cost / 1e9, held: 0 });
  });

  test('without a grace ends the streams of all its former secrets; the new one serves', async () => {
    const made = await newKey();
    const second = (await rotate(made.id, 60)).json;
    const [former, current] = [await openStream(made.key), await openStream(second.key)];
    expect([former.status, current.status]).toEqual([200, 200]);
    const third = (await rotate(made.id, 0)).json;
    expect(await Promise.all([former, current].map(endOf))).toMatchObject([
      { error: { code: 'invalid_api_key' } },
      { error: { code: 'invalid_api_key' } },
    ]);
    await expect.poll(async () => (await chat(made.key)).status).toBe(401);
    const stream = await openStream(third.key);
    expect((await chat(third.key)).status).toBe(200);
    await stream.body?.cancel();
  });

  test('cannot be rotated by a weaker key', async () => {
    const made = await newKey();
    const weak = await newKey({ permissions: ['keys:write'] });
    const { status, json } = await rotate(made.id, 0, weak.key);
    expect([status, json.error.code]).toEqual([403, 'permission_denied']);
    const wrong = await api('POST', `/v1/keys/${made.id}/rotate`, { grace_minutes: -1 });
    expect([wrong.status, wrong.json.error.param]).toEqual([400, 'grace_minutes']);
  });
});

test('a limited key makes keys within its limit, and together they spend it once', async () => {
  const cost = (await chat(stack.key)).json.usage.cost;
  const limit = { amount: cost, interval: 'day' };
  const maker = await newKey({ permissions: ['keys:write', 'models:write'], limit });
  const makes = (body: object) =>
    api('POST', '/v1/keys', { name: 'a', permissions: ['models:write'], ...body }, maker.key);
  const { status, json: wider } = await makes({ limit: null });
  expect([status, wider.error]).toMatchObject([403, { code: 'permission_denied', param: 'limit' }]);
  const [one, two] = [(await makes({})).json, (await makes({})).json];
  expect([one.limit, two.limit]).toEqual([limit, limit]);
  await api('PATCH', `/v1/keys/${two.id}`, { limit: null });
  expect((await chat(one.key)).status).toBe(200);
  for (const key of [two.key, maker.key])
    expect((await chat(key)).json.error).toMatchObject({ code: 'budget_exceeded' });
  await booked();
  expect((await api('GET', `/v1/keys/${maker.id}`)).json.spent).toBe(cost);
  await api('DELETE', `/v1/keys/${maker.id}`);
  await expect.poll(async () => (await chat(two.key)).status).toBe(401);
});

test('a key that expires ends the streams that it opened', async () => {
  const { key } = await newKey({ expires_at: new Date(Date.now() + KEY_LIFE_MS).toISOString() });
  const stream = await openStream(key);
  expect(stream.status).toBe(200);
  expect(await endOf(stream)).toMatchObject({ error: { code: 'expired_api_key' } });
});

test('a key says when its last call ended; other requests, and refunds of its calls, do not count', async () => {
  const made = await newKey();
  const lastUse = async (key: string) => (await api('GET', '/v1/key', undefined, key)).json.last_used_at;
  expect([await lastUse(made.key), await lastUse(made.key)]).toEqual([null, null]);
  const begun = Date.now();
  const { requestId } = await chat(made.key);
  await booked();
  const used = await lastUse(made.key);
  expect(Date.parse(used ?? '')).toBeGreaterThanOrEqual(begun);
  const refund = await api('POST', '/v1/refunds', { request_id: requestId, reason: 'of no use' });
  expect(refund.status).toBe(201);
  await booked();
  expect(await lastUse(made.key)).toBe(used);
  expect((await api('GET', `/v1/keys/${made.id}`)).json.last_used_at).toBe(used);
});

test('GET /v1/keys/{id} says what the key has spent in the interval of its limit, else in the month', async () => {
  const made = await newKey({ limit: { amount: 2, interval: 'day' } });
  const { json: empty } = await api('GET', `/v1/keys/${made.id}`);
  expect(empty).toMatchObject({ id: made.id, limit: made.limit, spent: 0, held: 0 });
  expect(empty).not.toHaveProperty('key');
  const cost = (await chat(made.key)).json.usage.cost;
  await booked();
  const { json: spent } = await api('GET', `/v1/keys/${made.id}`);
  expect(spent.spent).toBe(cost);
  expect(Date.parse(spent.window.ends_at) - Date.parse(spent.window.starts_at)).toBe(86_400_000);
  await api('PATCH', `/v1/keys/${made.id}`, { limit: null });
  await expect
    .poll(async () => (await api('GET', `/v1/keys/${made.id}`)).json.window.starts_at)
    .toBe(new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString().replace(/-\d\dT/, '-01T'));
  const unknown = await api('GET', '/v1/keys/key_unknown');
  expect([unknown.status, unknown.json.error.code]).toEqual([404, 'key_not_found']);
});

describe('GET /v1/key', () => {
  test('tells a key without further permissions what it is and what it has spent', async () => {
    const made = await newKey({ limit: { amount: 2, interval: 'day' }, models: ['acme/*'] });
    const cost = (await chat(made.key)).json.usage.cost;
    await booked();
    const { status, json } = await api('GET', '/v1/key', undefined, made.key);
    expect(status).toBe(200);
    const { key: _secret, ...shown } = made;
    expect(json).toMatchObject({ ...shown, org: 'org_default', models: ['acme/*'], spent: cost, held: 0 });
    expect(json).not.toHaveProperty('key');
  });

  test('tells a former secret of the same key, and refuses a revoked one', async () => {
    const made = await newKey();
    await rotate(made.id, 60);
    expect((await api('GET', '/v1/key', undefined, made.key)).json.id).toBe(made.id);
    await api('DELETE', `/v1/keys/${made.id}`);
    await expect.poll(async () => (await api('GET', '/v1/key', undefined, made.key)).status).toBe(401);
  });
});
