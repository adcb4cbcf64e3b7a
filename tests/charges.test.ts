// Costs of the ways a call can end, from the ledger itself: its rows in MongoDB, compared with
// the line in Logs and the cost that the caller received.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  type UpstreamRequest,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let upstream: Upstream;
let stack: TestStack;
let mongo: MongoClient;
/** Accepts connections and never answers, so a TLS handshake cannot complete. */
let silent: Server;

beforeAll(async () => {
  upstream = await startUpstream();
  silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const silentUrl = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const model = (name: string, behaviour = name) => chatModel(`acme/${name}`, upstream.url, behaviour);
  const models = [
    model('plain'),
    model('endless', 'endless+gap-20+megabytes-64'),
    model('hangs', 'hangs+latency-60000'),
    chatModel('acme/unconnected', silentUrl, 'unconnected'),
    model('fails', 'fails+fault-500'),
    model('cut', 'cut+cut-3'),
    model('nousage', 'nousage+nousage'),
    ...['empty', 'filtered', 'counting'].map((name) => model(name)),
  ];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_AUDIT_SECONDS: '1' } });
  mongo = await new MongoClient(stack.mongoUrl, { useBigInt64: true }).connect();
  upstream.on('empty', (_request, response) => answerWith(response, { content: '' }, 'stop'));
  upstream.on('filtered', (_request, response) => answerWith(response, { content: '' }, 'content_filter'));
  upstream.on('counting', countAloud);
});
afterAll(async () => {
  await mongo?.close();
  await stack?.stop();
  await upstream?.close();
  silent?.close();
});

const USAGE = { prompt_tokens: 19, completion_tokens: 20, total_tokens: 39 };
/** Nano-dollars per token of the test catalog's chat models. */
const INPUT = 150n;
const OUTPUT = 600n;

function answerWith(response: ServerResponse, message: object, finish_reason: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }];
  response.end(
    JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE }),
  );
}

/** A maker that reports the token count so far in each chunk. */
async function countAloud({ gone }: UpstreamRequest, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let tokens = 1; !gone.aborted; tokens++) {
    const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }];
    const usage = { prompt_tokens: 19, completion_tokens: tokens, total_tokens: 19 + tokens };
    const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage };
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`))
      await once(response, 'drain', { signal: gone });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface Call {
  id: string;
  status: number;
  text: string;
}

const messages = [{ role: 'user', content: 'Hello!' }];

function send(body: object, init: RequestInit = {}, key = stack.key): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
    body: JSON.stringify({ messages, ...body }),
  });
}

async function chat(body: object, init?: RequestInit, key?: string): Promise<Call> {
  const response = await send(body, init, key);
  return { id: idOf(response), status: response.status, text: await response.text() };
}

const idOf = (response: Response) => response.headers.get('x-request-id') ?? '';

interface LogLine {
  status: string;
  http_status: number;
  error_code: string | null;
  cost: number;
  basis: string | null;
  model: string | null;
  attempts: { model: string }[];
}

/** The line in Logs, once it exists: billing books the ledger before it answers. */
async function lineOf(id: string): Promise<LogLine> {
  const url = `${stack.url}/v1/logs/${id}`;
  const init = { headers: { authorization: `Bearer ${stack.key}` } };
  await expect.poll(async () => (await fetch(url, init)).status).toBe(200);
  return (await (await fetch(url, init)).json()) as LogLine;
}

/** Nano-dollars of every row of a call in the ledger, voids included. */
async function ledgerOf(id: string): Promise<bigint[]> {
  const rows = mongo
    .db()
    .collection('ledger')
    .find({ _id: { $in: [id, `${id}:void`] as never[] } });
  return (await rows.toArray()).map(({ cost }) => cost as bigint);
}

const nanos = (dollars: number) => BigInt(Math.round(dollars * 1e9));
const costOf = ({ text }: Call) => nanos((JSON.parse(text) as { usage: { cost: number } }).usage.cost);

/** Checks that there is one row, equal to the line in Logs. */
async function expectCharged(id: string, line: LogLine): Promise<bigint> {
  const rows = await ledgerOf(id);
  expect(rows).toEqual([nanos(line.cost)]);
  return rows[0] ?? -1n;
}

describe('an answer', () => {
  test('is charged once, at the cost reported to the caller, by the maker’s count', async () => {
    const call = await chat({ model: 'acme/plain' });
    const line = await lineOf(call.id);
    expect(line).toMatchObject({ status: 'ok', basis: 'upstream' });
    expect(await expectCharged(call.id, line)).toBe(costOf(call));
  });

  test('is charged by estimate when its maker reports no usage', async () => {
    const call = await chat({ model: 'acme/nousage' });
    const line = await lineOf(call.id);
    expect(line).toMatchObject({ status: 'ok', basis: 'estimated' });
    expect(await expectCharged(call.id, line)).toBe(costOf(call));
    expect(line.cost).toBeGreaterThan(0);
  });

  test('of a fallback is charged at its own price; the failed attempt is not', async () => {
    const call = await chat({ model: 'acme/fails', models: ['acme/plain'] });
    const line = await lineOf(call.id);
    expect(line).toMatchObject({
      model: 'acme/plain',
      attempts: [{ model: 'acme/fails' }, { model: 'acme/plain' }],
    });
    expect(await expectCharged(call.id, line)).toBe(costOf(call));
  });

  test('repeated under its Idempotency-Key is charged once', async () => {
    const headers = { 'idempotency-key': 'charged-once' };
    const [first, again] = [
      await chat({ model: 'acme/plain' }, { headers }),
      await chat({ model: 'acme/plain' }, { headers }),
    ];
    expect(again.text).toBe(first.text);
    const line = await lineOf(first.id);
    expect(await expectCharged(first.id, line)).toBe(costOf(first));
    if (again.id !== first.id) expect(await ledgerOf(again.id)).toEqual([]);
  });
});

describe('a client that goes away', () => {
  async function leaveAfterFirstPiece(model: string): Promise<string> {
    const leaving = new AbortController();
    const response = await send({ model, stream: true }, { signal: leaving.signal });
    let text = '';
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (/"content":"[^"]/.test(text)) break; // a comment may come before
    }
    leaving.abort();
    return idOf(response);
  }

  test('in mid-stream pays for the output so far, by estimate', async () => {
    const id = await leaveAfterFirstPiece('acme/endless');
    expect(await (await upstream.request('endless+gap-20+megabytes-64')).over).toBe('cut');
    const line = await lineOf(id);
    expect(line).toMatchObject({ status: 'cancelled', basis: 'estimated' });
    expect(await expectCharged(id, line)).toBeGreaterThan(0n);
  });

  test('pays by the maker’s own count, if there is one', async () => {
    const id = await leaveAfterFirstPiece('acme/counting');
    const line = await lineOf(id);
    expect(line).toMatchObject({ status: 'cancelled', basis: 'upstream' });
    const charged = await expectCharged(id, line);
    const output = charged - 19n * INPUT;
    expect(output).toBeGreaterThan(0n);
    expect(output % OUTPUT).toBe(0n);
  });

  /** Leaves once `begun`, before anything was said; resolves with its line in Logs. */
  async function leaveBeforeFirstByte(
    model: string,
    call: (signal: AbortSignal) => Promise<Response>,
    begun: Promise<unknown>,
  ): Promise<LogLine & { id: string }> {
    const leaving = new AbortController();
    const before = (await lastLine(model))?.id;
    const answer = call(leaving.signal);
    await begun;
    leaving.abort();
    await expect(answer).rejects.toThrow();
    const isLogged = async () => (await lastLine(model))?.id !== before;
    await expect.poll(isLogged).toBe(true);
    const line = (await lastLine(model)) as LogLine & { id: string };
    expect(line.status).toBe('cancelled');
    return line;
  }

  test.each([false, true])(
    'before anything was said pays for the input that its maker has, and no more than for the answer (streamed: %s)',
    async (stream) => {
      const sent = upstream.request('hangs+latency-60000');
      const call = (signal: AbortSignal) => send({ model: 'acme/hangs', stream }, { signal });
      const line = await leaveBeforeFirstByte('acme/hangs', call, sent);
      expect(await (await sent).over).toBe('cut');
      expect(line).toMatchObject({ status: 'cancelled', http_status: 499, basis: 'estimated' });
      const charged = await expectCharged(line.id, line);
      expect(charged).toBeGreaterThan(0n);
      expect(charged % INPUT).toBe(0n);
      expect(charged).toBeLessThanOrEqual(costOf(await chat({ model: 'acme/plain' })));
    },
  );

  test.each([
    ['a batch of images', 'images/generations', 'image-1', { prompt: 'the sea', n: 2 }, 80_000_000n],
    ['a text to speak', 'audio/speech', 'tts-1', { input: 'Hello', voice: 'a' }, 75_000n],
    ['a search', 'rerank', 'rerank-1', { query: 'a', documents: ['x', 'y'] }, 2_000_000n],
    ['texts to embed', 'embeddings', 'text-embedding-3-small', { input: ['abcd', 'efgh'] }, 40n],
    [
      'questions',
      'decisions',
      'decide-1',
      { state: 'It rains.', questions: { wet: { type: 'boolean', instructions: 'Is it wet?' } } },
      2_200n,
    ],
  ])('pays for what its maker has begun: %s', async (_what, path, upstreamModel, body, cost) => {
    upstream.on(upstreamModel, ({ gone }) => once(gone, 'abort').then(() => {}));
    const model = MODEL_OF[path] as string;
    const call = (signal: AbortSignal) =>
      fetch(`${stack.url}/v1/${path}`, {
        method: 'POST',
        signal,
        headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...body }),
      });
    const line = await leaveBeforeFirstByte(model, call, upstream.request(upstreamModel));
    expect(line.basis).toBe('estimated');
    expect(await expectCharged(line.id, line)).toBe(cost);
  });

  test.each([
    ['that no upstream has', { model: 'acme/unconnected' }],
    ['whose last attempt failed', { model: 'acme/fails', models: ['acme/unconnected'] }],
  ])('pays nothing for a request %s', async (_what, body) => {
    const call = (signal: AbortSignal) => send(body, { signal });
    const line = await leaveBeforeFirstByte(body.model, call, once(silent, 'connection'));
    expect(line).toMatchObject({ cost: 0, basis: null });
    expect((await ledgerOf(line.id)).every((cost) => cost === 0n)).toBe(true);
  });
});

/** The model of the test catalog that an endpoint has. */
const MODEL_OF: Readonly<Record<string, string>> = {
  'images/generations': 'acme/image-1',
  'audio/speech': 'acme/speech-1',
  rerank: 'acme/rerank-1',
  embeddings: 'acme/embed-1',
  decisions: 'acme/decide-1',
};

async function lastLine(model: string): Promise<(LogLine & { id: string }) | undefined> {
  const response = await fetch(`${stack.url}/v1/logs?limit=20`, {
    headers: { authorization: `Bearer ${stack.key}` },
  });
  const { data } = (await response.json()) as { data: (LogLine & { id: string; requested_model: string })[] };
  return data.find(({ requested_model }) => requested_model === model);
}

describe('nothing usable', () => {
  test.each(['acme/fails', 'acme/empty'])(
    'from %s costs nothing, and has its line in Logs',
    async (model) => {
      const call = await chat({ model });
      expect(call.status).toBe(502);
      const line = await lineOf(call.id);
      expect(line).toMatchObject({ status: 'error', http_status: 502, cost: 0 });
      expect(await expectCharged(call.id, line)).toBe(0n);
    },
  );

  test('from a maker that refuses costs nothing, and is the answer', async () => {
    const call = await chat({ model: 'acme/filtered', models: ['acme/plain'] });
    expect([call.status, costOf(call)]).toEqual([200, 0n]);
    const line = await lineOf(call.id);
    expect(line.attempts).toHaveLength(1);
    expect(await expectCharged(call.id, line)).toBe(0n);
  });

  test('but a beginning: a broken stream ends with an error and costs nothing', async () => {
    const call = await chat({ model: 'acme/cut', stream: true });
    expect(call.text).not.toContain('[DONE]');
    expect(call.text).toContain('"error"');
    const line = await lineOf(call.id);
    expect(line.status).toBe('error');
    expect(await expectCharged(call.id, line)).toBe(0n);
  });
});

describe('a refusal has a line in Logs at no cost, and no row in the ledger', () => {
  beforeAll(untilMidnightIsFar);

  const newKey = async (more: object) => {
    const response = await fetch(`${stack.url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'a', permissions: ['models:write'], ...more }),
    });
    return ((await response.json()) as { key: string }).key;
  };

  test.each<[number, string, object, object]>([
    [400, 'invalid_request', { model: 'acme/plain', temperature: 9 }, {}],
    [404, 'model_not_found', { model: 'acme/unknown' }, {}],
    [403, 'model_not_allowed', { model: 'acme/plain' }, { models: ['other/*'] }],
    [403, 'permission_denied', { model: 'acme/plain' }, { permissions: ['usage:read'] }],
  ])('%i %s', async (status, code, body, restriction) => {
    const call = await chat(body, {}, await newKey(restriction));
    expect(call.status).toBe(status);
    expect(await lineOf(call.id)).toMatchObject({
      status: 'refused',
      http_status: status,
      error_code: code,
      cost: 0,
    });
    expect(await ledgerOf(call.id)).toEqual([]);
  });

  test('402 budget_exceeded', async () => {
    const key = await newKey({ limit: { amount: 0.000000001, interval: 'day' } });
    expect((await chat({ model: 'acme/plain' }, {}, key)).status).toBe(200); // alone with what is left
    const call = await chat({ model: 'acme/plain' }, {}, key);
    expect(call.status).toBe(402);
    expect(await lineOf(call.id)).toMatchObject({ http_status: 402, error_code: 'budget_exceeded', cost: 0 });
    expect(await ledgerOf(call.id)).toEqual([]);
  });
});

test('the audit finds each reported cost in the ledger, without drift', async () => {
  const metrics = await stack.metrics('edge');
  const answers = Number(/^switchyard_edge_answers_total(?:{.*})? (\d+)$/m.exec(metrics)?.[1]);
  expect(answers).toBeGreaterThan(5);
  const audited = async () => {
    const url = `${stack.url}/v1/account/audit`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${stack.key}` } });
    return (await answer.json()) as Record<string, unknown>;
  };
  await expect.poll(audited).toMatchObject({
    answers_compared: answers,
    answers_wrong: 0,
    drift: 0,
    statements_drift: 0,
    gapless: true,
  });
});

// Runs last: the restarted edge has counted no answers yet.
test('a client whose edge dies before the first output pays nothing: its charge is voided', async () => {
  const answer = send({ model: 'acme/hangs' }).catch(() => null);
  const sent = await upstream.request('hangs+latency-60000');
  const id = String(sent.headers['x-request-id']);
  const { back } = await stack.kill9('edge');
  await Promise.all([answer, back]);
  expect(await sent.over).toBe('cut');
  await expect.poll(async () => (await lineOf(id)).status).toBe('voided');
  expect((await lineOf(id)).cost).toBe(0);
  const rows = await ledgerOf(id);
  expect(rows.reduce((sum, cost) => sum + cost, 0n)).toBe(0n);
});
