// Two orgs side by side: whatever one of them asks for with ids of the other, nothing is read, changed, started or
// charged. And every endpoint of the OpenAPI document refuses every key that may not use it.
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CreatedKey,
  type CreatedOrg,
  NO_RATE_LIMITS,
  type OrgObject,
  type Permission,
} from '@switchyard/contracts';
import { docker, startStack, type TestStack } from '@switchyard/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly isPublic: boolean;
  /** Media type and example of its body. */
  readonly body: { readonly type: string; readonly example: unknown } | null;
  readonly isUpgrade: boolean;
}

/** What is read of the document. */
interface OpenApi {
  paths: Record<
    string,
    Record<
      string,
      {
        description: string;
        security?: object[];
        requestBody?: { content: Record<string, { schema?: { examples?: unknown[] } }> };
        responses: object;
      }
    >
  >;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Parameters that are no ids of an org: orgs and providers are the operator's, models everybody's, a statement is named by
 * its month. */
const OF_NO_ORG = ['orgs', 'providers', 'models', 'statements'];
/** A call is in Logs within a second; a busy machine takes longer. */
const BOOKED_MS_MAX = 60_000;
const PERMISSION = /Needs the permission `([\w:]+)`/;
const withComputers = (await docker()) !== undefined;

let stack: TestStack;
/** Takes what webhooks send. */
let receiver: Server;
let hookUrl: string;
let operations: Operation[];
let a: CreatedOrg;
let b: CreatedOrg;
/** Ids of what B has, by the path before the parameter. */
let idsOfB: Record<string, string>;

beforeAll(async () => {
  receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  hookUrl = `http://${host}/`;
  const computers = withComputers ? { SWITCHYARD_COMPUTERS: 'on' } : {};
  stack = await startStack({ env: { ...computers, SWITCHYARD_EGRESS_ALLOW: host } });
  operations = await readOperations();
  [a, b] = await Promise.all([makeOrg('A'), makeOrg('B')]);
  idsOfB = await fill(b);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

async function readOperations(): Promise<Operation[]> {
  const { paths } = await json<OpenApi>(await fetch(`${stack.url}/v1/openapi.json`));
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description, security, requestBody, responses }]) => {
      const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      return {
        ...{ method: method.toUpperCase(), path, description },
        isPublic: security?.length === 0,
        body: type === undefined ? null : { type, example: media?.schema?.examples?.[0] ?? {} },
        isUpgrade: '101' in responses,
      };
    }),
  );
}

async function json<T>(answer: Response): Promise<T> {
  return (await answer.json()) as T;
}

async function api<T>(key: string, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300);
  return JSON.parse(text) as T;
}

const makeOrg = (name: string) => api<CreatedOrg>(stack.key, 'POST', '/v1/orgs', { name });
const newKey = (org: CreatedOrg, permissions: Permission[], more: object = {}) =>
  api<CreatedKey>(stack.key, 'POST', `/v1/orgs/${org.id}/keys`, { name: 'k', permissions, ...more });

/** Gives an org one of everything. */
async function fill({ key }: CreatedOrg): Promise<Record<string, string>> {
  const form = new FormData();
  form.append('file', new Blob(['of B']), 'b.txt');
  const stored = await fetch(`${stack.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  const chat = { model: 'local/chat', messages: [{ role: 'user', content: 'of B' }] };
  const video = { model: 'local/video', prompt: 'of B', duration: 1 };
  const [file, webhook, job, call, made] = await Promise.all([
    json<{ id: string }>(stored),
    api<{ id: string }>(key, 'POST', '/v1/webhooks', { url: hookUrl, events: ['*'] }),
    api<{ id: string }>(key, 'POST', '/v1/videos/generations', video),
    api<{ id: string }>(key, 'POST', '/v1/chat/completions', chat),
    api<CreatedKey>(key, 'POST', '/v1/keys', { name: 'of B', permissions: ['usage:read'] }),
  ]);
  const computer = withComputers ? (await firstComputer({ url: stack.url, key })).id : 'cmp_unknown';
  const logged = () => fetch(`${stack.url}/v1/logs?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  const rows = async () => (await json<{ data: { id: string }[] }>(await logged())).data;
  await vi.waitFor(async () => expect(await rows()).toHaveLength(1), BOOKED_MS_MAX);
  const [row] = await rows();
  return {
    ...{ keys: made.id, files: file.id, webhooks: webhook.id, videos: job.id, computers: computer },
    ...{ logs: row?.id ?? '', statements: new Date().toISOString().slice(0, 7), call: call.id },
  };
}

/** Sends a request as the operation has it; an upgrade is asked for where it answers with one. */
async function ask(operation: Operation, path: string, authorization: string | null): Promise<Answer> {
  const { method, body, isUpgrade } = operation;
  const form = body?.type === 'multipart/form-data';
  const sent = request(stack.url + path, {
    method,
    headers: {
      ...(authorization === null ? {} : { authorization }),
      ...(body
        ? {
            'content-type': form ? 'multipart/form-data; boundary=x' : body.type.replace('*/*', 'text/plain'),
          }
        : {}),
      ...(isUpgrade
        ? {
            ...{ connection: 'Upgrade', upgrade: 'websocket' },
            ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
          }
        : {}),
    },
  });
  sent.end(body ? (form ? '--x--\r\n' : JSON.stringify(body.example)) : undefined);
  const [answer, socket] = await Promise.race([once(sent, 'response'), once(sent, 'upgrade')]);
  if (answer.statusCode === 101) {
    socket.destroy();
    return { status: 101, text: '' };
  }
  return { status: answer.statusCode, text: (await answer.setEncoding('utf8').toArray()).join('') };
}

const codeOf = ({ text }: Answer): string => JSON.parse(text).error.code;

/** A path with every parameter replaced. */
function fillPath(path: string, id: (kind: string) => string): string {
  const kind = path.split('/')[2] ?? '';
  return path
    .replace('{id}', id(kind))
    .replace('{month}', id(kind))
    .replaceAll(/\{\w+\}/g, '1');
}

describe('a key that may not use an endpoint', () => {
  const guarded = () => operations.filter(({ isPublic }) => !isPublic);

  async function refusals(authorization: string | null): Promise<string[]> {
    const answers = await Promise.all(
      guarded().map(async (one) => ({
        name: `${one.method} ${one.path}`,
        answer: await ask(
          one,
          fillPath(one.path, () => 'x'),
          authorization,
        ),
      })),
    );
    expect(answers.length).toBeGreaterThan(50);
    return [
      ...new Set(
        answers.map(({ name, answer }) =>
          `${answer.status} ${codeOf(answer)} ${name}`.split(' ').slice(0, 2).join(' '),
        ),
      ),
    ];
  }

  test('is refused by all of them: none, malformed, unknown', async () => {
    expect(await refusals(null)).toEqual(['401 missing_api_key']);
    expect(await refusals('Basic abc')).toEqual(['401 missing_api_key']);
    expect(await refusals(`Bearer ${'x'.repeat(600)}`)).toEqual(['401 invalid_api_key']);
    expect(await refusals('Bearer sy_unknown')).toEqual(['401 invalid_api_key']);
  });

  test('is refused by all of them: expired, revoked', async () => {
    const soon = new Date(Date.now() + 1_000).toISOString();
    const expired = await newKey(a, ['usage:read'], { expires_at: soon });
    const revoked = await newKey(a, ['usage:read']);
    await api(a.key, 'DELETE', `/v1/keys/${revoked.id}`);
    const account = {
      method: 'GET',
      path: '/v1/account',
      description: '',
      isPublic: false,
      body: null,
      isUpgrade: false,
    };
    for (const { key } of [expired, revoked])
      await expect.poll(async () => (await ask(account, '/v1/account', `Bearer ${key}`)).status).toBe(401);
    expect(await refusals(`Bearer ${expired.key}`)).toEqual(['401 expired_api_key']);
    expect(await refusals(`Bearer ${revoked.key}`)).toEqual(['401 invalid_api_key']);
  });

  test('is refused by all of them while its org is suspended, and accepted when the org is restored', async () => {
    const org = await makeOrg('C');
    await api(stack.key, 'PATCH', `/v1/orgs/${org.id}`, { status: 'suspended' });
    const models = () => fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${org.key}` } });
    await expect.poll(async () => (await models()).status).toBe(403);
    expect(await refusals(`Bearer ${org.key}`)).toEqual(['403 org_suspended']);
    await api(stack.key, 'PATCH', `/v1/orgs/${org.id}`, { status: 'active' });
    await expect.poll(async () => (await models()).status).toBe(200);
  });

  test('is refused by those whose permission it lacks, among them everything of the operator', async () => {
    const [reader, caller] = await Promise.all([newKey(a, ['usage:read']), newKey(a, ['models:write'])]);
    let checked = 0;
    for (const one of guarded()) {
      const needed = PERMISSION.exec(one.description)?.[1];
      if (needed === undefined) continue;
      const keys = needed === 'operator' ? [a.key] : [(needed === 'usage:read' ? caller : reader).key];
      for (const key of keys) {
        const answer = await ask(
          one,
          fillPath(one.path, () => 'x'),
          `Bearer ${key}`,
        );
        const shown = `${one.method} ${one.path}: ${answer.status} ${answer.text}`;
        expect(answer.status, shown).toBe(403);
        expect(JSON.parse(answer.text).error, shown).toMatchObject({
          code: 'permission_denied',
          message: expect.stringContaining(needed),
        });
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(50);
  });
});

test('an org gets for ids of another org what it gets for unknown ids, and changes nothing', async () => {
  const snapshot = async () => {
    const get = (path: string) => api<object>(b.key, 'GET', path);
    const kinds = Object.entries(idsOfB).filter(([kind]) => ['keys', 'files', 'webhooks'].includes(kind));
    const charged = await api<{ total: object }>(b.key, 'GET', '/v1/usage?group_by=model');
    return [...(await Promise.all(kinds.map(([kind, id]) => get(`/v1/${kind}/${id}`)))), charged.total];
  };
  const before = await snapshot();
  const own = new Set<string>();
  for (const one of operations.filter(({ path, isPublic }) => path.includes('{') && !isPublic)) {
    const kind = one.path.split('/')[2] ?? '';
    if (OF_NO_ORG.includes(kind)) continue;
    const id = idsOfB[kind];
    expect(id, `no ${kind} of B for ${one.path}`).toBeDefined();
    const unknown = `${id?.slice(0, id.indexOf('_') + 1)}${'u'.repeat(20)}`;
    const [theirs, none] = await Promise.all(
      [id as string, unknown].map(async (asked) => {
        const { status, text } = await ask(
          one,
          fillPath(one.path, () => asked),
          `Bearer ${a.key}`,
        );
        return `${status} ${text.replaceAll(asked, '<id>').replaceAll(/req_[\w-]+/g, '<request>')}`;
      }),
    );
    expect(theirs, `${one.method} ${one.path}`).toBe(none);
    expect(theirs).toMatch(/^40[04]/);
    own.add(kind);
  }
  expect([...own].sort()).toEqual(['computers', 'files', 'keys', 'logs', 'videos', 'webhooks']);
  expect(await snapshot()).toEqual(before);
});

test('lists, reports and statements of an org show nothing of another', async () => {
  const paths = [
    'keys',
    'files',
    'webhooks',
    'videos',
    'logs',
    'credits',
    ...(withComputers ? ['computers'] : []),
  ];
  for (const path of paths) {
    const { data } = await api<{ data: { id: string }[] }>(a.key, 'GET', `/v1/${path}`);
    const ids = data.map(({ id }) => id);
    for (const id of Object.values(idsOfB)) expect(ids, path).not.toContain(id);
  }
  const { total } = await api<{ total: { cost: number } }>(a.key, 'GET', '/v1/usage?group_by=model');
  expect(total.cost).toBe(0);
  const statement = await api<{ lines: object[] }>(a.key, 'GET', `/v1/statements/${idsOfB.statements}`);
  expect(statement.lines).toEqual([]);
});

test('an Idempotency-Key of one org is another key in another org', async () => {
  const post = async (key: string) => {
    const answer = await fetch(`${stack.url}/v1/embeddings`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'shared',
      },
      body: JSON.stringify({ model: 'local/embed', input: key === a.key ? 'of A' : 'of B' }),
    });
    return { status: answer.status, replayed: answer.headers.get('idempotent-replayed') };
  };
  const first = await post(b.key);
  expect(await post(a.key)).toEqual({ ...first, replayed: null });
});

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
  expect(await balance()).toBe(1.5);
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
  expect(await balance()).toBe(1.5);
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

test('the openai client comes back when a limit of concurrent calls has room', async () => {
  const { key } = await newKey(a, ['models:write'], { limits: { concurrent_calls: 1 } });
  const statuses: number[] = [];
  const client = new OpenAI({
    baseURL: `${stack.url}/v1`,
    apiKey: key,
    maxRetries: 20,
    fetch: async (...asked) => {
      const answer = await fetch(...asked);
      statuses.push(answer.status);
      return answer;
    },
  });
  const hello = { model: 'local/chat', messages: [{ role: 'user' as const, content: 'Hello!' }] };
  const answers = await Promise.all(Array.from({ length: 4 }, () => client.chat.completions.create(hello)));
  expect(answers.map(({ model }) => model)).toEqual(answers.map(() => 'local/chat'));
  expect([...new Set(statuses)].sort()).toEqual([200, 429]);
});

describe.runIf(withComputers)('an org that is deleted', () => {
  test(
    'has its streams ended and its computers stopped at once, and its files back when it is restored',
    async () => {
      const org = await makeOrg('E');
      const { id } = await firstComputer({ url: stack.url, key: org.key });
      const stream = await fetch(`${stack.url}/v1/computers/${id}/exec`, {
        method: 'POST',
        headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ command: 'echo kept > /workspace/kept; sleep 600', stream: true }),
      });
      const reader = stream.body?.getReader();
      await reader?.read(); // the command has begun
      await api(stack.key, 'DELETE', `/v1/orgs/${org.id}`);
      let said = '';
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        said += Buffer.from(part.value).toString();
      expect(said).toContain('org_suspended');
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
