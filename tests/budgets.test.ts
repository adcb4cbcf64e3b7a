// Spending limits through the whole stack: with two edges and two routers on one ledger, no key spends a nano-dollar
// more than its limit, and no call that fits is refused.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@switchyard/local';
import {
  chatModel,
  ownPort,
  startStack,
  startUpstream,
  type TestStack,
  temporaryFolder,
  type Upstream,
  type UpstreamRequest,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOLD_WAIT_MS_MAX } from '../services/billing/src/accounts/hold-desk.ts';
import { firstComputer } from './__fixtures__/first-computer.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

const run = promisify(execFile);

/** One minute plus the time to stop a computer on a busy machine. */
const MINUTE_IS_OVER_MS_MAX = 150_000;

let upstream: Upstream;
let stack: TestStack;
let secondEdge: string;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [
    chatModel('acme/plain', upstream.url, 'plain'),
    chatModel('acme/endless', upstream.url, 'endless'),
    chatModel('acme/slow', upstream.url, 'slow'),
    chatModel('acme/broken', upstream.url, 'broken+fault-500'),
    chatModel('other/plain', upstream.url, 'other'),
    { ...chatModel('acme/long', upstream.url, 'long'), limits: { output_tokens: 8_000 } },
    chatModel('acme/wide', upstream.url, 'long'),
    {
      ...chatModel('acme/dear', upstream.url, 'dear'),
      pricing: { input_token: '0.00001', output_token: '0.0001' },
    },
  ];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_COMPUTERS: 'on' } });
  const port = await ownPort();
  secondEdge = `http://127.0.0.1:${port}`;
  await Promise.all([
    startBeside('edge', { PORT: String(port) }),
    startBeside('model-router', { SWITCHYARD_CATALOG: catalog }),
  ]);
});
beforeEach(untilMidnightIsFar);
afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await stack?.stop();
  await upstream?.close();
});

/** Starts another instance of a service, as on a second machine; resolves when it is ready. */
async function startBeside(service: string, env: Record<string, string>): Promise<void> {
  const data = await temporaryFolder(`beside-${service}`);
  const child = spawn(process.execPath, [join(ROOT, 'services', service, 'src/main.ts')], {
    env: { ...process.env, NATS_URL: stack.natsUrl, SWITCHYARD_DATA: data, LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  processes.push(child);
  await once(child, 'message');
}

/** `npm run partitions`; resolves with its output. */
async function splitBilling(to: number): Promise<string> {
  const command = join(ROOT, 'services/billing/src/partitions/main.ts');
  const env = { ...process.env, NATS_URL: stack.natsUrl, MONGODB_URL: stack.mongoUrl };
  const { stdout } = await run(process.execPath, [command, '--to', String(to)], { env });
  return stdout;
}

const messages = [{ role: 'user', content: 'Hello!' }];

async function api(
  method: string,
  path: string,
  { body, key = stack.key, url = stack.url }: Partial<Api> = {},
) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Answer };
}
interface Api {
  body: unknown;
  key: string;
  url: string;
}
interface Answer {
  id: string;
  key: string;
  usage: { cost: number };
  balance: number;
  cost: number;
  minutes: number;
  held: number;
  spent: number;
  error: { code: string; message: string; param: string | null };
  total: { cost: number; calls: number };
  data: { cost: number; status: string; http_status: number; error_code: string | null }[];
}

async function newKey(fields: Record<string, unknown>): Promise<{ id: string; key: string }> {
  const body = { name: 'limited', permissions: ['models:write', 'usage:read'], ...fields };
  const { status, json } = await api('POST', '/v1/keys', { body });
  expect(status).toBe(201);
  return json;
}

const chat = (options: Partial<Api> & { model?: string } = {}) =>
  api('POST', '/v1/chat/completions', {
    ...options,
    body: { model: options.model ?? 'acme/plain', messages },
  });

async function costOfOneCall(): Promise<number> {
  return (await chat()).json.usage.cost;
}

/**
 * Makes concurrent calls and returns their statuses. A call waits a limited time for held amounts. When a round was so
 * slow that some calls may have timed out waiting, refused calls are repeated.
 */
async function untilSpent(calls: number, ask: (i: number) => Promise<number>): Promise<number[]> {
  const statuses = Array.from({ length: calls }, () => 402);
  let begunAt: number;
  do {
    begunAt = performance.now();
    await Promise.all(
      statuses.map(async (status, i) => {
        if (status === 402) statuses[i] = await ask(i);
      }),
    );
  } while (performance.now() - begunAt >= HOLD_WAIT_MS_MAX);
  return statuses;
}

const nanos = (dollars: number) => Math.round(dollars * 1e9);

async function spentBy(id: string): Promise<{ nanos: number; calls: number }> {
  await untilBooked(stack.url, stack.key);
  const { json } = await api('GET', `/v1/usage?group_by=key`);
  const row = (json.data as unknown as { group: string; cost: number; calls: number }[]).find(
    ({ group }) => group === id,
  );
  return { nanos: nanos(row?.cost ?? 0), calls: row?.calls ?? 0 };
}

test('200 concurrent calls on a budget for exactly 50, over two edges and two routers: 50 are answered', async () => {
  const cost = await costOfOneCall();
  const limit = { amount: (nanos(cost) * 50) / 1e9, interval: 'day' };
  const { id, key } = await newKey({ limit });
  const before = upstream.requests.length;
  const outcomes = await untilSpent(200, async (i) => {
    const { status, json } = await chat({ key, url: i % 2 === 0 ? stack.url : secondEdge });
    if (status === 402) expect(json.error.code).toBe('budget_exceeded');
    return status;
  });
  const ofStatus = (status: number) => outcomes.filter((one) => one === status);
  expect([ofStatus(200).length, ofStatus(402).length]).toEqual([50, 150]);
  expect(upstream.requests.length - before).toBe(50);
  expect(await spentBy(id)).toEqual({ nanos: nanos(limit.amount), calls: 50 });
});

test('and 50 again while billing is split in two, permanently; refused callers that may retry do so', async () => {
  await startBeside('billing', { MONGODB_URL: stack.mongoUrl });
  const cost = await costOfOneCall();
  const limit = { amount: (nanos(cost) * 50) / 1e9, interval: 'day' };
  const { id, key } = await newKey({ limit });
  let splitting: Promise<string> | null = null;
  const outcomes = await untilSpent(200, async (i) => {
    for (;;) {
      const { status } = await chat({ key, url: i % 2 === 0 ? stack.url : secondEdge });
      if (status === 200) splitting ??= splitBilling(2);
      if (status !== 503) return status;
    }
  });
  expect(await splitting).toContain('layout 1: 2 partitions');
  const ofStatus = (status: number) => outcomes.filter((one) => one === status);
  expect([ofStatus(200).length, ofStatus(402).length]).toEqual([50, 150]);
  expect(await spentBy(id)).toEqual({ nanos: nanos(limit.amount), calls: 50 });
});

describe('long answers in one piece', () => {
  /** Tokens of an answer. */
  const LONG_TOKENS = 8_000;
  /** The estimated number: then exactly 50 answers fit. */
  const INPUT_TOKENS = 13;
  const LONG_NANOS = INPUT_TOKENS * 150 + LONG_TOKENS * 600;

  /** Produces as many tokens as allowed, and reports the count. */
  const talkAtLength = ({ json }: UpstreamRequest, response: ServerResponse) => {
    const asked = (json?.max_tokens as number | undefined) ?? LONG_TOKENS;
    const completion_tokens = Math.min(asked, LONG_TOKENS);
    const total_tokens = INPUT_TOKENS + completion_tokens;
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens, total_tokens };
    const message = { role: 'assistant', content: 'word '.repeat(50) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices, usage }),
    );
  };

  test.each([
    ['whose longest answer is known', 'acme/long'],
    ['whose longest answer is its whole context', 'acme/wide'],
  ])(
    '200 calls at once of a model %s, on a budget for 50: not a nano-dollar more is spent',
    async (_which, model) => {
      upstream.on('long', talkAtLength);
      const limit = { amount: (50 * LONG_NANOS) / 1e9, interval: 'day' };
      const { id, key } = await newKey({ limit });
      const outcomes = await untilSpent(200, async (i) => {
        const { status, json } = await chat({ key, model, url: i % 2 === 0 ? stack.url : secondEdge });
        if (status === 402) expect(json.error.code).toBe('budget_exceeded');
        return status;
      });
      const ofStatus = (status: number) => outcomes.filter((one) => one === status);
      expect([ofStatus(200).length, ofStatus(402).length]).toEqual([50, 150]);
      expect(await spentBy(id)).toEqual({ nanos: nanos(limit.amount), calls: 50 });
    },
  );

  test('of an expensive model, called one after the other without max_tokens, stay within a dollar', async () => {
    const asked: unknown[] = [];
    upstream.on('dear', (request, response) => {
      asked.push(request.json?.max_tokens);
      talkAtLength(request, response);
    });
    const { id, key } = await newKey({ limit: { amount: 1, interval: 'day' } });
    for (let call = 0; call < 2; call += 1)
      expect((await chat({ key, model: 'acme/dear' })).status).toBe(200);
    expect(asked).toEqual([expect.any(Number), expect.any(Number)]);
    expect((await spentBy(id)).nanos).toBeLessThanOrEqual(1e9);
  });
});

describe('a key', () => {
  test('may use only its allowed models, also as fallbacks', async () => {
    const { key } = await newKey({ models: ['acme/*'] });
    expect((await chat({ key })).status).toBe(200);
    const refused = await chat({ key, model: 'other/plain' });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'model_not_allowed']);
    const body = { model: 'acme/broken', models: ['other/plain'], messages };
    const fallback = await api('POST', '/v1/chat/completions', { key, body });
    expect([fallback.status, fallback.json.error.code]).toEqual([502, 'upstream_error']);
  });

  test('that is changed has its new limit at once; null removes it', async () => {
    const { id, key } = await newKey({ limit: { amount: 0.000000001, interval: 'day' } });
    expect((await chat({ key })).status).toBe(200); // the call runs alone and is kept within the limit
    expect((await chat({ key })).json.error?.code).toBe('budget_exceeded');
    const { json } = await api('PATCH', `/v1/keys/${id}`, { body: { limit: null, name: 'free' } });
    expect(json).toMatchObject({ id, name: 'free', limit: null });
    await expect.poll(async () => (await chat({ key })).status).toBe(200);
  });

  test('whose calls fail spends nothing, and holds nothing afterwards', async () => {
    const cost = await costOfOneCall();
    const { id, key } = await newKey({ limit: { amount: cost, interval: 'day' } });
    for (let i = 0; i < 3; i++) expect((await chat({ key, model: 'acme/broken' })).status).toBe(502);
    expect((await chat({ key })).status).toBe(200);
    expect(await spentBy(id)).toEqual({ nanos: nanos(cost), calls: 4 });
  });
});

describe('a computer', () => {
  /** A busy host may briefly have no room: a 503 is retried, as official clients do. */
  async function create(key: string) {
    const ask = () => api('POST', '/v1/computers', { key, body: { cpu: 0.25, memory_mb: 512 } });
    let answer = await ask();
    await expect
      .poll(async () => {
        if (answer.status === 503) answer = await ask();
        return answer.status;
      })
      .not.toBe(503);
    return answer;
  }
  const change = (verb: string, id: string) => api('POST', `/v1/computers/${id}/${verb}`);
  const permissions = ['computers:write'];

  async function costOfOneMinute(): Promise<number> {
    const { id } = await firstComputer(stack);
    const { cost, minutes } = (await change('stop', id)).json;
    await api('DELETE', `/v1/computers/${id}`);
    return Number((cost / minutes).toFixed(9));
  }

  test('runs for the minutes that its key can pay, then stops with its files; nothing more is spent', async () => {
    const minute = await costOfOneMinute();
    const { id: keyId, key } = await newKey({ permissions, limit: { amount: minute, interval: 'day' } });
    const outcomes = await Promise.all([create(key), create(key)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([201, 402]);
    const refused = outcomes.find(({ status }) => status === 402);
    const dollars = minute.toFixed(9).replace(/0+$/, '');
    expect(refused?.json.error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining(
        `$0 of $${dollars} is spent and $${dollars} is held for running work in the day`,
      ),
      details: { spent: '0', held: dollars },
    });
    const { id } = outcomes.find(({ status }) => status === 201)?.json ?? { id: '' };
    expect((await api('GET', `/v1/keys/${keyId}`)).json).toMatchObject({ spent: 0, held: minute });
    await expect
      .poll(async () => (await api('GET', `/v1/computers/${id}`)).json, {
        timeout: MINUTE_IS_OVER_MS_MAX,
        interval: 500,
      })
      .toMatchObject({ status: 'stopped', stop_reason: 'insufficient_funds', minutes: 1, cost: minute });
    const shown = async () => (await api('GET', `/v1/keys/${keyId}`)).json;
    await expect.poll(shown).toMatchObject({ spent: minute, held: 0 });
    // Also with a key without a limit: the minutes count for the key that created the computer.
    expect((await change('start', id)).json.error.code).toBe('budget_exceeded');
    expect((await api('PATCH', `/v1/keys/${keyId}`, { body: { limit: null } })).status).toBe(200);
    await expect.poll(async () => (await change('start', id)).status).toBe(200);
    const { cost, minutes } = (await change('stop', id)).json;
    expect(nanos(cost)).toBe(minutes * nanos(minute));
    expect(minutes).toBeGreaterThan(1);
    await expect.poll(async () => nanos((await shown()).spent)).toBe(nanos(cost));
    await api('DELETE', `/v1/computers/${id}`);
  }, 1_200_000);
});

test('a stream ends at its budget: no [DONE], an error event, and the output so far is charged', async () => {
  // A thousand tokens are held beforehand, at 600,000 nano-dollars; there is room for half as many more.
  const { id, key } = await newKey({ limit: { amount: 0.0009, interval: 'day' } });
  let sent = 0;
  upstream.on('endless', async ({ gone }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!gone.aborted) {
      const chunk = { choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] }; // one token
      const data = `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'endless', ...chunk })}`;
      sent += 1;
      if (!response.write(`${data}\n\n`)) await once(response, 'drain', { signal: gone });
      if (sent % 50 === 0) await new Promise(setImmediate);
    }
  });
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/endless', messages, stream: true }),
  });
  expect(response.status).toBe(200);
  const events = (await response.text()).trim().split('\n\n');
  expect(JSON.parse(events.at(-1)?.slice('data: '.length) ?? '')).toMatchObject({
    error: { code: 'budget_exceeded' },
  });
  expect(events.length).toBeGreaterThan(1_400);
  // Output in flight at the end: at most one turn of the socket.
  const spent = await spentBy(id);
  expect(spent.calls).toBe(1);
  expect(spent.nanos).toBeGreaterThan(890_000);
  expect(spent.nanos).toBeLessThan(1_100_000);
  expect((await chat({ key })).json.error.code).toBe('budget_exceeded');
});

test('a stream whose budget ends before its first token ends in an error event, and the edge serves the next call', async () => {
  const limit = { amount: 0.000009, interval: 'day' }; // the input and ten tokens, and no fifty
  const { id, key } = await newKey({ limit });
  const chunk = (delta: object) => {
    const choices = [{ index: 0, delta, finish_reason: null }];
    return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'slow', choices })}\n\n`;
  };
  const held = async () => (await api('GET', `/v1/keys/${id}`)).json.held;
  upstream.on('slow', async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant' }).repeat(50));
    await expect.poll(held).toBe(limit.amount); // the rest of the budget is held for these chunks
    response.end(chunk({ content: 'word' }));
  });
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/slow', messages, stream: true, max_tokens: 10 }),
  });
  expect(response.status).toBe(200);
  const [event] = (await response.text()).split('\n\n');
  expect(JSON.parse(event?.slice('data: '.length) ?? '')).toMatchObject({
    error: { code: 'budget_exceeded' },
  });
  expect((await chat()).status).toBe(200);
});

describe('a prepaid org', () => {
  test('is refused without credits, spends them exactly, and continues after a top-up', async () => {
    const cost = await costOfOneCall();
    expect((await api('PATCH', '/v1/account', { body: { billing: 'prepaid' } })).json).toMatchObject({
      billing: 'prepaid',
    });
    await expect.poll(async () => (await chat()).status).toBe(402); // earlier charges are still owed
    await untilBooked(stack.url, stack.key);
    const { json: account } = await api('GET', '/v1/account');
    expect(account.balance).toBeLessThan(0); // the org was postpaid until now
    expect((await chat()).json.error.code).toBe('insufficient_funds');
    const owed = -nanos(account.balance);
    const amount = (owed + 3 * nanos(cost)) / 1e9;
    const body = { amount, reason: 'payment', reference: 'inv_1' };
    const granted = await api('POST', '/v1/credits', { body });
    expect([granted.status, granted.json]).toMatchObject([
      201,
      { object: 'credit', amount, reference: 'inv_1' },
    ]);
    const outcomes = await untilSpent(10, async () => (await chat()).status);
    expect(outcomes.filter((status) => status === 200)).toHaveLength(3);
    expect(outcomes.filter((status) => status === 402)).toHaveLength(7);
    await untilBooked(stack.url, stack.key);
    expect((await api('GET', '/v1/account')).json).toMatchObject({ balance: 0, held: 0 });
    await api('PATCH', '/v1/account', { body: { billing: 'postpaid' } });
    await expect.poll(async () => (await chat()).status).toBe(200);
  });

  test('gets an error for an invalid change', async () => {
    for (const [path, method, body, param] of [
      ['/v1/account', 'PATCH', { billing: 'later' }, 'billing'],
      ['/v1/account', 'PATCH', { billing: 'prepaid', monthly_limit: 5 }, 'monthly_limit'],
      ['/v1/credits', 'POST', { amount: -1, reason: 'x' }, 'amount'],
      ['/v1/credits', 'POST', { amount: 0.0000000001, reason: 'x' }, 'amount'],
      ['/v1/credits', 'POST', { amount: 1 }, 'reason'],
    ] as const) {
      const { status, json } = await api(method, path, { body });
      expect([status, json.error.param]).toEqual([400, param]);
    }
    const reader = await newKey({});
    const { status, json } = await api('POST', '/v1/credits', {
      key: reader.key,
      body: { amount: 1, reason: 'x' },
    });
    expect([status, json.error.code]).toEqual([403, 'permission_denied']);
  });
});
