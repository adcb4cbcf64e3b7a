// The audit log on the whole stack: what an operator and a tenant do through the API, and who reads it.
import { connectBus } from '@switchyard/bus';
import type { AuditEntry, CreatedKey, CreatedOrg } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { callAs, makeKey } from './__fixtures__/tenants.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

/** Includes the time until a message that the dead control had taken is delivered again. */
const RECOVERY_MS_MAX = 60_000;

let stack: TestStack;
let tenant: CreatedOrg;
/** Id of the operator's key. */
let operator: string;

interface Page {
  readonly data: AuditEntry[];
  readonly has_more: boolean;
  readonly last_id: string | null;
}

beforeAll(async () => {
  stack = await startStack({ env: { ACME_API_KEY: 'of-the-environment' } });
  const { data } = await callAs<{ data: { id: string; name: string }[] }>(
    stack,
    stack.key,
    'GET',
    '/v1/keys',
  );
  operator = data.find(({ name }) => name === 'SWITCHYARD_KEY')?.id ?? '';
  const body = { name: 'Acme', billing: 'prepaid', credits: 5 };
  tenant = await callAs<CreatedOrg>(stack, stack.key, 'POST', '/v1/orgs', body);
});
afterAll(() => stack?.stop());

const read = async (key: string, query = '') => {
  await untilBooked(stack.url, key);
  return callAs<Page>(stack, key, 'GET', `/v1/audit-log${query}`);
};
const asTenant = <T>(method: string, path: string, body?: unknown) =>
  callAs<T>(stack, tenant.key, method, path, body);
const linesOf = (page: Page) => page.data.map(({ type, target, actor }) => [type, target, actor?.key_id]);

test('an org reads what its operator and its own keys did to it, newest first', async () => {
  const name = 'planted-name';
  const { id, key } = await asTenant<CreatedKey>('POST', '/v1/keys', { name, permissions: ['usage:read'] });
  await asTenant('PATCH', `/v1/keys/${id}`, { name: 'other' });
  const answer = await fetch(`${stack.url}/v1/keys/${id}/rotate`, {
    ...{ method: 'POST', body: JSON.stringify({ grace_minutes: 5 }) },
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
  });
  const rotated = (await answer.json()) as CreatedKey;
  await asTenant('DELETE', `/v1/keys/${id}`);
  await callAs(stack, stack.key, 'PATCH', `/v1/orgs/${tenant.id}`, { name: 'Acme Ltd' });
  const page = await read(tenant.key);
  const credit = page.data.find(({ type }) => type === 'credit.granted');
  expect(linesOf(page)).toEqual([
    ['org.updated', tenant.id, operator],
    ['key.revoked', id, tenant.key_id],
    ['key.rotated', id, tenant.key_id],
    ['key.updated', id, tenant.key_id],
    ['key.created', id, tenant.key_id],
    ['key.created', tenant.key_id, operator],
    ['credit.granted', credit?.target, operator],
    ['org.created', tenant.id, operator],
  ]);
  const [named, , , changed] = page.data;
  expect(named).toMatchObject({
    ...{ org: tenant.id, actor: { key_id: operator, org: 'org_default' } },
    changes: { name: { from: 'Acme', to: 'Acme Ltd' } },
  });
  expect(changed?.changes).toEqual({ name: { from: name, to: 'other' } });
  expect(page.data[2]?.request_id).toBe(answer.headers.get('x-request-id'));
  expect(page.data.every(({ org }) => org === tenant.id)).toBe(true);
  const text = JSON.stringify(page);
  expect([key, rotated.key, tenant.key, stack.key].filter((secret) => text.includes(secret))).toEqual([]);
});

test('a tenant asks for its own org only; another org, like an unknown one, is not found', async () => {
  const ask = async (org: string) => {
    const headers = { authorization: `Bearer ${tenant.key}` };
    const answer = await fetch(`${stack.url}/v1/audit-log?org=${org}`, { headers });
    return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code];
  };
  expect(await ask(tenant.id)).toEqual([200, undefined]);
  for (const org of ['org_default', 'org_none']) expect(await ask(org)).toEqual([404, 'org_not_found']);
});

test('a key without usage:read is refused, and one of the operator’s org without operator sees its org only', async () => {
  const { key: narrow } = await makeKey(stack, tenant.id, ['models:write']);
  const refused = await fetch(`${stack.url}/v1/audit-log`, {
    headers: { authorization: `Bearer ${narrow}` },
  });
  expect(refused.status).toBe(403);
  const body = { name: 'reader', permissions: ['usage:read'] };
  const reader = await callAs<CreatedKey>(stack, stack.key, 'POST', '/v1/keys', body);
  const page = await read(reader.key);
  expect(page.data[0]).toMatchObject({ type: 'key.created', target: reader.id });
  expect(page.data.every(({ org }) => org === 'org_default')).toBe(true);
});

test('the operator reads all orgs, filtered, page by page, with keys of makers and never the key', async () => {
  const api_key = 'planted-provider-key';
  await callAs(stack, stack.key, 'PUT', '/v1/providers/openai', { api_key });
  await callAs(stack, stack.key, 'DELETE', '/v1/providers/openai');
  const all = await read(stack.key);
  expect(new Set(all.data.map(({ org }) => org))).toEqual(new Set(['org_default', tenant.id]));
  expect(linesOf(all).slice(0, 2)).toEqual([
    ['provider.deleted', 'openai', operator],
    ['provider.updated', 'openai', operator],
  ]);
  expect(JSON.stringify(all)).not.toContain(api_key);
  const created = await read(stack.key, `?org=${tenant.id}&type=key.created&actor=${operator}&limit=1`);
  expect(linesOf(created)).toHaveLength(1);
  expect(created.has_more).toBe(true);
  const rest = await read(
    stack.key,
    `?org=${tenant.id}&type=key.created&actor=${operator}&after=${created.last_id}`,
  );
  expect(linesOf(rest)).toEqual([['key.created', tenant.key_id, operator]]);
});

test('a change during which control is killed has a line if it happened, and only then', async () => {
  const make = (n: number) =>
    asTenant<CreatedKey>('POST', '/v1/keys', { name: `before-${n}`, permissions: ['usage:read'] });
  const made = await Promise.all(Array.from({ length: 24 }, (_, n) => make(n)));
  const change = ({ id }: CreatedKey, n: number) =>
    fetch(`${stack.url}/v1/keys/${id}`, {
      ...{ method: 'PATCH', body: JSON.stringify({ name: `after-${n}` }) },
      headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
    }).then((answer) => answer.arrayBuffer());
  const changing = made.map(change);
  await Promise.race(changing);
  const { back } = await stack.kill9('control');
  await Promise.allSettled(changing);
  await back;
  await vi.waitFor(
    async () => {
      const keys = await asTenant<{ data: { name: string }[] }>('GET', '/v1/keys');
      const changed = keys.data.map(({ name }) => name).filter((name) => name.startsWith('after-'));
      expect(changed.length).toBeGreaterThan(0);
      const { data } = await read(tenant.key, '?type=key.updated&limit=100');
      const names = data.map(({ changes }) => String(changes.name?.to));
      expect(names.filter((name) => name.startsWith('after-')).toSorted()).toEqual(changed.toSorted());
    },
    { timeout: RECOVERY_MS_MAX, interval: 250 },
  );
});

test('control may read the events that writes carry, in each of its buckets', async () => {
  const bus = await connectBus({ url: stack.natsUrl, service: 'test', logger: makeLogger('test', 'silent') });
  try {
    for (const bucket of ['keys', 'orgs', 'webhooks', 'webhook-secrets', 'provider-keys'])
      await vi.waitFor(async () => {
        const info = await bus.jsm.consumers.info(`KV_${bucket}`, 'written-events');
        expect(info.num_waiting, bucket).toBeGreaterThan(0);
        expect(info.num_pending, bucket).toBe(0);
        expect(info.ack_floor.consumer_seq, bucket).toBeGreaterThanOrEqual(info.delivered.consumer_seq - 1);
      }, RECOVERY_MS_MAX);
  } finally {
    await bus.close();
  }
});
