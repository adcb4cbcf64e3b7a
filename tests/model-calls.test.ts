// Model calls on the full stack: HTTP, edge, NATS, router, a real upstream that misbehaves on demand, and back.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type CatalogEntry,
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let upstream: Upstream;
let stack: TestStack;

const FAULTS = ['429', '500', '503', '401', '404', 'context'];
/** A port that nothing listens on. */
const NOWHERE = 'http://127.0.0.1:9/v1';

/** Of attempts that run out of time whatever the machine does; and of one that must have begun before. */
const QUICK = { attempt_timeout_ms: 2_000, first_byte_timeout_ms: 500 };
const STALLING = { attempt_timeout_ms: 40_000, first_byte_timeout_ms: 15_000 };
/** Long enough for the key to be made on a busy machine. */
const KEY_LIFE_MS = 15_000;
const models = (url: string): CatalogEntry[] => [
  chatModel('acme/plain', url, 'plain', { api_key_env: 'ACME_TEST_KEY' }),
  chatModel('acme/keyless', url, 'keyless', { api_key_env: 'ACME_UNSET_KEY' }),
  chatModel('acme/nowhere', NOWHERE, 'nowhere'),
  chatModel('acme/cached', url, 'cached+cached'),
  chatModel('acme/crlf', url, 'crlf+crlf'),
  chatModel('acme/nousage', url, 'nousage+nousage'),
  chatModel('acme/slow', url, 'slow+latency-60000', QUICK),
  chatModel('acme/stalls', url, 'stalls+stall-2', STALLING),
  chatModel('acme/cuts', url, 'cuts+cut-3+gap-20'),
  chatModel('acme/errs', url, 'errs+error-3'),
  chatModel('acme/endless', url, 'endless+gap-20+megabytes-64'),
  chatModel('acme/drips', url, 'drips+gap-20+megabytes-64'),
  chatModel('acme/flood', url, 'flood+megabytes-400'),
  chatModel('acme/hangs', url, 'hangs+latency-60000'),
  chatModel('acme/names-us', url, 'names-us'),
  chatModel('acme/refuses', url, 'refuses+fault-400'),
  ...FAULTS.map((fault) => chatModel(`acme/fault-${fault}`, url, `fault-model+fault-${fault}`)),
];

beforeAll(async () => {
  upstream = await startUpstream();
  const catalog = await writeTestCatalog({ url: upstream.url, models: models(upstream.url) });
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog, ACME_TEST_KEY: 'sk-acme' } });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

const messages = [{ role: 'user', content: 'Hello!' }];

function post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
}

const get = (path: string) => fetch(stack.url + path, { headers: { authorization: `Bearer ${stack.key}` } });
const chat = (body: object, init?: RequestInit) => post('/v1/chat/completions', { messages, ...body }, init);

interface Completion {
  model: string;
  choices: { message: { content: string } }[];
  usage: { prompt_tokens: number; completion_tokens: number; cost: number };
}
interface Failure {
  error: {
    code: string;
    message: string;
    param: string | null;
    request_id: string;
    details?: { attempts?: { model: string; error: string | null }[] };
  };
}

/** Resolves with the line in Logs when the call is booked. */
async function log(requestId: string): Promise<Record<string, unknown>> {
  const read = () => get(`/v1/logs/${requestId}`);
  await expect.poll(async () => (await read()).status).toBe(200);
  return (await (await read()).json()) as Record<string, unknown>;
}

const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
const requestIdOf = (response: Response) => response.headers.get('x-request-id') ?? '';

describe('a chat call', () => {
  test('reaches the upstream unchanged except for the model’s name, with our credentials', async () => {
    const body =
      '{"x_maker_field":{"deep":[1.0,12345678901234567890]},"model":"acme/plain", "messages":[{"role":"user","content":"\\u00fc"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}';
    const response = await post('/v1/chat/completions', body);
    expect(response.status).toBe(200);
    const sent = await upstream.request('plain');
    expect(sent.body.toString()).toBe(body.replace('"acme/plain"', '"plain"'));
    expect(sent.headers.authorization).toBe('Bearer sk-acme');
    expect(JSON.stringify(sent.rawHeaders)).not.toContain(stack.key);
  });

  test('has its exact cost in the body, the header and the log', async () => {
    const response = await chat({ model: 'acme/plain' });
    const { usage, model } = (await response.json()) as Completion;
    const expected = (usage.prompt_tokens * 150 + usage.completion_tokens * 600) / 1e9;
    expect(usage.cost).toBeCloseTo(expected, 12);
    expect(response.headers.get('x-service-cost')).toBe(usage.cost.toFixed(9).replace(/0+$/, ''));
    expect(model).toBe('acme/plain');
    expect(await log(requestIdOf(response))).toMatchObject({
      status: 'ok',
      cost: usage.cost,
      model: 'acme/plain',
      basis: 'upstream',
      maker: 'acme',
    });
  });

  test('charges cached input at its own rate', async () => {
    const { usage } = (await (await chat({ model: 'acme/cached' })).json()) as Completion & {
      usage: { prompt_tokens_details: { cached_tokens: number } };
    };
    const cached = usage.prompt_tokens_details.cached_tokens;
    expect(cached).toBeGreaterThan(0);
    expect(usage.cost).toBeCloseTo(
      ((usage.prompt_tokens - cached) * 150 + cached * 75 + usage.completion_tokens * 600) / 1e9,
      12,
    );
  });

  test.each(['acme/plain', 'acme/crlf', 'acme/nousage'])(
    'streams %s: every chunk under our name, the cost in the last one, then [DONE]',
    async (model) => {
      const response = await chat({ model, stream: true });
      expect(response.headers.get('content-type')).toContain('text/event-stream');
      const events = eventsOf((await response.text()).replaceAll('\r\n', '\n'));
      expect(events.at(-1)).toBe('[DONE]');
      const chunks = events
        .slice(0, -1)
        .map((event) => JSON.parse(event) as { model: string; usage?: { cost?: number } | null });
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]));
      const costs = chunks.map((chunk) => chunk.usage?.cost).filter((cost) => cost !== undefined);
      expect(costs).toHaveLength(1);
      expect(chunks.at(-1)?.usage?.cost).toBeGreaterThan(0);
      expect(await log(requestIdOf(response))).toMatchObject({
        cost: costs[0],
        stream: true,
        basis: model === 'acme/nousage' ? 'estimated' : 'upstream',
      });
    },
  );

  test('takes a body of 20 MB', async () => {
    const content = 'x'.repeat(20 * 1024 * 1024);
    const response = await chat({ model: 'acme/plain', messages: [{ role: 'user', content }], tag: '20mb' });
    expect(response.status).toBe(200);
    const sent = upstream.requests.findLast(({ json }) => json?.tag === '20mb');
    const [message] = (sent?.json?.messages ?? []) as { content: string }[];
    expect(
      createHash('sha256')
        .update(message?.content ?? '')
        .digest('hex'),
    ).toBe(createHash('sha256').update(content).digest('hex'));
  });

  test('stops its upstream when the client goes away, and says so in the log', async () => {
    const gone = new AbortController();
    const response = await chat({ model: 'acme/endless', stream: true }, { signal: gone.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    gone.abort();
    expect(await (await upstream.request('endless+gap-20+megabytes-64')).over).toBe('cut');
    expect(await log(requestIdOf(response))).toMatchObject({ status: 'cancelled', basis: 'estimated' });
  });

  test('stops its upstream when the client goes away before the answer began', async () => {
    const gone = new AbortController();
    const response = chat({ model: 'acme/hangs' }, { signal: gone.signal });
    const sent = await upstream.request('hangs+latency-60000');
    gone.abort();
    await expect(response).rejects.toThrow();
    expect(await sent.over).toBe('cut');
  });

  test('of 400 MB leaves the memory of edge and router flat', async () => {
    const response = await chat({ model: 'acme/flood', stream: true });
    const reader = response.body?.getReader();
    if (!reader) throw new Error('no body');
    const pids = [await stack.pidOf('edge'), await stack.pidOf('model-router')];
    const before = pids.map(residentMiB);
    let bytes = 0;
    let peak = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      peak = Math.max(peak, ...pids.map((pid, index) => residentMiB(pid) - (before[index] ?? 0)));
    }
    expect(bytes).toBeGreaterThan(400 * 1024 * 1024);
    expect(peak).toBeLessThan(200); // buffers are freed when a collection ends, later on a busy machine
  });
});

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe('fallback', () => {
  test.each(FAULTS)('goes on after %s, and the log lists both attempts', async (fault) => {
    const response = await chat({ model: `acme/fault-${fault}`, models: ['acme/plain'] });
    expect(response.status).toBe(200);
    expect(((await response.json()) as Completion).model).toBe('acme/plain');
    const entry = await log(requestIdOf(response));
    expect(entry).toMatchObject({
      requested_model: `acme/fault-${fault}`,
      model: 'acme/plain',
      attempts: [{ model: `acme/fault-${fault}` }, { model: 'acme/plain', error: null }],
    });
  });

  test.each(['acme/nowhere', 'acme/slow'])('goes on from %s, streamed and not', async (model) => {
    for (const stream of [false, true]) {
      const response = await chat({ models: [model, 'acme/plain'], stream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('acme/plain');
    }
  });

  test('is not for refusals: the maker’s 400 is the answer, and is free', async () => {
    const before = upstream.requests.length;
    const response = await chat({ models: ['acme/refuses', 'acme/plain'] });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Failure).error.code).toBe('upstream_rejected');
    expect(upstream.requests.length - before).toBe(1);
    expect(await log(requestIdOf(response))).toMatchObject({ status: 'refused', cost: 0, http_status: 400 });
  });

  test.each([400, 429, 500])(
    'shows callers no ids of our account, whatever the maker’s %d says',
    async (status) => {
      upstream.on('names-us', (_request, response) => {
        const message = `Rate limit reached for gpt-4o in organization org-abc123 (project: proj_Zq8Lk2).`;
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message, type: 'x', param: null, code: null } }));
      });
      const response = await chat({ model: 'acme/names-us' });
      const body = await response.text();
      expect(body).toContain('Rate limit reached for gpt-4o in organization [redacted]');
      const row = JSON.stringify(await log(requestIdOf(response)));
      expect(row).toContain('organization [redacted]');
      expect(body + row).not.toMatch(/org-abc123|proj_Zq8Lk2/);
    },
  );

  test.each([
    ['acme/nowhere', 502, 'upstream_error'],
    ['acme/fault-500', 502, 'upstream_error'],
    ['acme/fault-429', 429, 'rate_limited'],
    ['acme/slow', 504, 'upstream_timeout'],
  ])('without a success is a coded error: %s', async (model, status, code) => {
    const response = await chat({ model });
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as Failure;
    expect(error).toMatchObject({ code, request_id: requestIdOf(response) });
    expect(error.details?.attempts).toHaveLength(1);
    expect(await log(requestIdOf(response))).toMatchObject({ status: 'error', cost: 0, error_code: code });
  });

  test.each(['acme/cuts', 'acme/stalls', 'acme/errs'])(
    'is over once the stream has begun: %s ends in an error event, without [DONE], free',
    async (model) => {
      const response = await chat({ models: [model, 'acme/plain'], stream: true });
      expect(response.status).toBe(200);
      const events = eventsOf(await response.text());
      expect(events.length).toBeGreaterThan(1);
      expect(events).not.toContain('[DONE]');
      expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { request_id: requestIdOf(response) } });
      expect(await log(requestIdOf(response))).toMatchObject({ status: 'error', cost: 0 });
    },
  );

  test('names the variable to set where a model has no credentials', async () => {
    const response = await chat({ model: 'acme/keyless' });
    expect(response.status).toBe(503);
    const { error } = (await response.json()) as Failure;
    expect(error.code).toBe('model_unavailable');
    expect(error.message).toContain('ACME_UNSET_KEY');
    const listed = await (await get('/v1/models/acme/keyless')).json();
    expect(listed).toMatchObject({
      available: false,
      unavailable_reason: 'set ACME_UNSET_KEY to use this model',
    });
  });
});

describe('embeddings', () => {
  test('pass, with their cost', async () => {
    const response = await post('/v1/embeddings', { model: 'acme/embed-1', input: ['a', 'b'] });
    const body = (await response.json()) as {
      data: { embedding: number[] }[];
      usage: { prompt_tokens: number; cost: number };
    };
    expect(body.data).toHaveLength(2);
    expect(body.usage.cost).toBeCloseTo((body.usage.prompt_tokens * 20) / 1e9, 12);
  });
});

describe('bad input', () => {
  test.each([
    ['no JSON', '{bad', 400, 'invalid_json', null],
    ['nothing', '', 400, 'invalid_json', null],
    ['a list', '[]', 400, 'invalid_request', null],
    ['no model', { messages }, 400, 'invalid_request', 'model'],
    ['a model that is a number', { model: 7, messages }, 400, 'invalid_request', 'model'],
    ['an unknown model', { model: 'no/such', messages }, 404, 'model_not_found', 'model'],
    [
      'an unknown fallback',
      { model: 'acme/plain', models: ['no/such'], messages },
      404,
      'model_not_found',
      'models',
    ],
    ['no messages', { model: 'acme/plain' }, 400, 'invalid_request', 'messages'],
    [
      'messages of the wrong type',
      { model: 'acme/plain', messages: 'hi' },
      400,
      'invalid_request',
      'messages',
    ],
    [
      'a role that is missing',
      { model: 'acme/plain', messages: [{}] },
      400,
      'invalid_request',
      'messages.0.role',
    ],
    [
      'a temperature out of range',
      { model: 'acme/plain', messages, temperature: 3 },
      400,
      'invalid_request',
      'temperature',
    ],
  ])('%s gets its coded error', async (_what, body, status, code, param) => {
    const response = await post('/v1/chat/completions', body);
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as Failure;
    expect(error).toMatchObject({ code, param, request_id: requestIdOf(response) });
    expect(JSON.stringify(error)).not.toMatch(/\.ts:|\n +at /);
  });

  test('a body over the limit is 413, one of another type 415, another method 405, an unknown path 404', async () => {
    expect((await chat({ model: 'acme/plain', pad: 'x'.repeat(33 * 1024 * 1024) })).status).toBe(413);
    expect(
      (
        await fetch(`${stack.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${stack.key}` },
          body: 'a=b',
        })
      ).status,
    ).toBe(415);
    const wrongMethod = await get('/v1/chat/completions');
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get('allow')).toBe('POST');
    expect((await get('/v1/nothing')).status).toBe(404);
  });

  test('a refused call has a log row, and costs nothing', async () => {
    const response = await chat({ model: 'acme/plain', temperature: 9 });
    expect(await log(requestIdOf(response))).toMatchObject({
      status: 'refused',
      cost: 0,
      http_status: 400,
      error_code: 'invalid_request',
      path: '/v1/chat/completions',
    });
  });
});

describe('keys', () => {
  const withKey = (key: string, path: string, init: RequestInit = {}) =>
    fetch(stack.url + path, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
  const create = async (permissions: string[], more: object = {}) =>
    (await (await post('/v1/keys', { name: 'test', permissions, ...more })).json()) as {
      id: string;
      key: string;
    };

  test('open what they permit from the moment they are made, and nothing else', async () => {
    const { key } = await create(['models:write']);
    expect((await withKey(key, '/v1/models')).status).toBe(200);
    expect(
      (
        await withKey(key, '/v1/chat/completions', {
          method: 'POST',
          body: JSON.stringify({ model: 'acme/plain', messages }),
        })
      ).status,
    ).toBe(200);
    const refused = await withKey(key, '/v1/usage');
    expect(refused.status).toBe(403);
    expect(((await refused.json()) as Failure).error.message).toContain('usage:read');
    expect((await withKey(key, '/v1/keys')).status).toBe(403);
  });

  test('that are revoked stop within a second', async () => {
    const { id, key } = await create(['models:write']);
    expect((await withKey(key, '/v1/models')).status).toBe(200);
    expect(
      await (
        await fetch(`${stack.url}/v1/keys/${id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${stack.key}` },
        })
      ).json(),
    ).toEqual({ id, object: 'key', deleted: true });
    await expect.poll(async () => (await withKey(key, '/v1/models')).status, { interval: 20 }).toBe(401);
    expect(
      (
        await fetch(`${stack.url}/v1/keys/${id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${stack.key}` },
        })
      ).status,
    ).toBe(404);
  });

  test('that are revoked end the streams they opened, and their upstream calls', async () => {
    const { id, key } = await create(['models:write']);
    const body = JSON.stringify({ model: 'acme/drips', stream: true, messages });
    const response = await withKey(key, '/v1/chat/completions', { method: 'POST', body });
    const sent = await upstream.request('drips+gap-20+megabytes-64');
    await fetch(`${stack.url}/v1/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${stack.key}` },
    });
    const events = eventsOf(await response.text());
    expect(events).not.toContain('[DONE]');
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(await sent.over).toBe('cut');
  });

  test('are refused when missing, unknown or expired, with WWW-Authenticate', async () => {
    const missing = await fetch(`${stack.url}/v1/models`);
    expect(missing.status).toBe(401);
    expect(missing.headers.get('www-authenticate')).toContain('Bearer');
    expect(((await missing.json()) as Failure).error.code).toBe('missing_api_key');
    expect(((await (await withKey('sy_nonsense', '/v1/models')).json()) as Failure).error.code).toBe(
      'invalid_api_key',
    );
    const past = await post('/v1/keys', {
      name: 'x',
      permissions: ['models:write'],
      expires_at: '2020-01-01T00:00:00Z',
    });
    expect(((await past.json()) as Failure).error).toMatchObject({
      code: 'invalid_request',
      param: 'expires_at',
    });
    const { key } = await create(['models:write'], {
      expires_at: new Date(Date.now() + KEY_LIFE_MS).toISOString(),
    });
    await expect
      .poll(async () => ((await (await withKey(key, '/v1/models')).json()) as Partial<Failure>).error?.code)
      .toBe('expired_api_key');
  });

  test('are listed without their secrets, and a body with an unknown field is refused', async () => {
    const { id, key } = await create(['usage:read']);
    const text = await (await get('/v1/keys')).text();
    expect(text).toContain(id);
    expect(text).not.toContain(key);
    const odd = await post('/v1/keys', { name: 'x', permissions: ['models:write'], admin: true });
    expect(((await odd.json()) as Failure).error).toMatchObject({ code: 'unknown_field', param: 'admin' });
  });
});
