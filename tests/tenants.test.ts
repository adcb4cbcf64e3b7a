// What an operator gives an org and takes from it: credits, refunds, limits, and the org itself. authorization.test.ts
// tests who may call what, and that orgs are apart.
import {
  type AccountObject,
  type CreatedOrg,
  NO_RATE_LIMITS,
  type OrgObject,
  type UsageReport,
} from '@switchyard/contracts';
import {
  chatModel,
  docker,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { callAs, makeKey, makeOrg } from './__fixtures__/tenants.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

const withComputers = (await docker()) !== undefined;
let stack: TestStack;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [chatModel('acme/held', upstream.url, 'held')];
  stack = await startStack({
    env: {
      SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models }),
      ...(withComputers ? { SWITCHYARD_COMPUTERS: 'on' } : {}),
    },
  });
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

async function json<T>(answer: Response): Promise<T> {
  return (await answer.json()) as T;
}

const api = <T>(key: string, method: string, path: string, body?: unknown) =>
  callAs<T>(stack, key, method, path, body);

test('a prepaid org spends the credits that its operator grants, gets refunds, and grants itself nothing', async () => {
  const org = await api<CreatedOrg>(stack.key, 'POST', '/v1/orgs', {
    name: 'D',
    billing: 'prepaid',
    credits: 1,
  });
  const balance = async () => (await api<{ balance: number }>(org.key, 'GET', '/v1/account')).balance;
  expect(await balance()).toBe(1);
  for (const path of ['/v1/credits', `/v1/orgs/${org.id}/credits`]) {
    const own = await fetch(stack.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 1, reason: 'mine' }),
    });
    expect([own.status, (await json<{ error: { code: string } }>(own)).error.code]).toEqual([
      403,
      'permission_denied',
    ]);
  }
  await api(stack.key, 'POST', `/v1/orgs/${org.id}/credits`, { amount: 0.5, reason: 'payment' });
  await expect.poll(balance).toBe(1.5);
  const chat = { model: 'local/chat', messages: [{ role: 'user', content: 'Hello!' }] };
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  const { usage } = await json<{ usage: { cost: number } }>(answer);
  const nanos = (dollars: number) => Math.round(dollars * 1e9);
  expect(usage.cost).toBeGreaterThan(0);
  await expect.poll(async () => nanos(await balance())).toBe(nanos(1.5) - nanos(usage.cost));
  const request_id = answer.headers.get('x-request-id');
  const refund = { request_id, reason: 'of no use' };
  await api(stack.key, 'POST', `/v1/orgs/${org.id}/refunds`, refund);
  await expect.poll(balance).toBe(1.5);
});

test('the operator reads the account and the usage of an org, as its own keys do', async () => {
  const org = await api<CreatedOrg>(stack.key, 'POST', '/v1/orgs', {
    ...{ name: 'G', billing: 'prepaid', credits: 1 },
  });
  await api(org.key, 'POST', '/v1/embeddings', { model: 'local/embed', input: 'rain' });
  await untilBooked(stack.url, org.key);
  const range = `from=${new Date(Date.now() - 3_600_000).toISOString()}&group_by=model`;
  const [account, usage] = [`/v1/orgs/${org.id}/account`, `/v1/orgs/${org.id}/usage?${range}`];
  const seen = await api<AccountObject>(stack.key, 'GET', account);
  expect(seen).toMatchObject({ org: org.id, billing: 'prepaid', credits: 1 });
  expect(seen.spent).toBeGreaterThan(0);
  const own = await api<AccountObject>(org.key, 'GET', '/v1/account');
  expect({ ...seen, as_of: null }).toEqual({ ...own, as_of: null });
  const report = await api<UsageReport>(stack.key, 'GET', usage);
  expect(report).toMatchObject({ total: { calls: 1, cost: seen.spent }, data: [{ group: 'local/embed' }] });
  const headers = { authorization: `Bearer ${stack.key}` };
  expect(await (await fetch(`${stack.url + usage}&format=csv`, { headers })).text()).toContain('local/embed');
  for (const path of ['account', 'usage']) {
    const unknown = await fetch(`${stack.url}/v1/orgs/org_unknown/${path}`, { headers });
    expect([unknown.status, (await json<{ error: { code: string } }>(unknown)).error.code]).toEqual([
      ...[404, 'org_not_found'],
    ]);
    const tenant = { authorization: `Bearer ${org.key}` };
    expect((await fetch(`${stack.url}/v1/orgs/${org.id}/${path}`, { headers: tenant })).status).toBe(403);
  }
  const wrong = await fetch(`${stack.url}/v1/orgs/${org.id}/usage?group_by=moon`, { headers });
  expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { param: 'group_by' } }]);
});

test('an org is held to its rate limits, and only its operator changes them', async () => {
  const limits = { requests_per_minute: 3 };
  const org = await api<CreatedOrg>(stack.key, 'POST', '/v1/orgs', { name: 'F', limits });
  expect(org.limits).toMatchObject(limits);
  const models = () => fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${org.key}` } });
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await models());
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))).toEqual([
    ...['2', '1', '0', '0'],
  ]);
  const refused = answers.at(-1);
  expect(refused?.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60');
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({
    error: { code: 'rate_limited', details: { limit: 'requests_per_minute', of: 'org' } },
  });
  expect((await api<OrgObject>(stack.key, 'PATCH', `/v1/orgs/${org.id}`, { limits: null })).limits).toEqual(
    NO_RATE_LIMITS,
  );
  await expect.poll(async () => (await models()).status).toBe(200);
});

test('the openai client retries until a limit of concurrent calls has room', async () => {
  const { id } = await makeOrg(stack, 'A');
  const { key } = await makeKey(stack, id, ['models:write'], { limits: { concurrent_calls: 1 } });
  const statuses: number[] = [];
  const refused = Promise.withResolvers<void>();
  upstream.on('held', async (_request, response) => {
    await refused.promise;
    const message = { role: 'assistant', content: 'Hello!' };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.writeHead(200, { 'content-type': 'application/json' });
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.end(JSON.stringify({ id: 'held', object: 'chat.completion', created: 1, choices, usage }));
  });
  const client = new OpenAI({
    baseURL: `${stack.url}/v1`,
    apiKey: key,
    maxRetries: 20,
    fetch: async (...asked) => {
      const answer = await fetch(...asked);
      statuses.push(answer.status);
      if (answer.status === 429) refused.resolve();
      return answer;
    },
  });
  const hello = { model: 'acme/held', messages: [{ role: 'user' as const, content: 'Hello!' }] };
  const answers = await Promise.all(Array.from({ length: 4 }, () => client.chat.completions.create(hello)));
  expect(answers.map(({ model }) => model)).toEqual(answers.map(() => 'acme/held'));
  expect([...new Set(statuses)].sort()).toEqual([200, 429]);
});

describe.runIf(withComputers)('an org that is deleted', () => {
  test(
    'has its streams ended and its computers stopped at once, and its files back when it is restored',
    async () => {
      const org = await makeOrg(stack, 'E');
      const { id } = await firstComputer({ url: stack.url, key: org.key });
      const stream = await fetch(`${stack.url}/v1/computers/${id}/exec`, {
        method: 'POST',
        headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          command: 'echo kept > /workspace/kept; echo written; sleep 600',
          stream: true,
        }),
      });
      const reader = stream.body?.getReader();
      let begun = '';
      while (!begun.includes('written')) begun += Buffer.from((await reader?.read())?.value ?? []).toString();
      await api(stack.key, 'DELETE', `/v1/orgs/${org.id}`);
      let said = '';
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        said += Buffer.from(part.value).toString();
      // The edge ends the stream, or the stop of its computer does: whichever is first.
      expect(said).toMatch(/org_suspended|"exit_code":143/);
      await api(stack.key, 'PATCH', `/v1/orgs/${org.id}`, { status: 'active' });
      const computer = () => api<{ status: string }>(org.key, 'GET', `/v1/computers/${id}`);
      await expect.poll(async () => (await computer().catch(() => null))?.status).toBe('stopped');
      await api(org.key, 'POST', `/v1/computers/${id}/start`);
      const read = await api<{ stdout: string }>(org.key, 'POST', `/v1/computers/${id}/exec`, {
        command: 'cat /workspace/kept',
      });
      expect(read.stdout).toBe('kept\n');
      await api(org.key, 'DELETE', `/v1/computers/${id}`);
    },
    SET_UP_MS_MAX,
  );
});
