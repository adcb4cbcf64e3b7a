// Makers through their AI SDK provider packages, on the full stack: HTTP, edge, NATS, router, a maker's own protocol over
// a real socket, and back; with the cost and the log row.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  type CatalogEntry,
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const FIXTURES = join(import.meta.dirname, '../services/model-router/src/makers/anthropic/__fixtures__');
const PRICING = {
  input_token: '0.000003',
  cached_input_token: '0.0000003',
  cache_write_input_token: '0.00000375',
  output_token: '0.000015',
};

let maker: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let upstream: Upstream;
let stack: TestStack;

beforeAll(async () => {
  upstream = await startUpstream();
  maker = createServer((request, response) => {
    request.resume().on('end', () => answer(request, response));
  });
  maker.listen(0, '127.0.0.1');
  await once(maker, 'listening');
  const claude: CatalogEntry = {
    ...chatModel(
      'acme/claude',
      `http://127.0.0.1:${(maker.address() as AddressInfo).port}`,
      'claude-sonnet-4-6',
      {
        adapter: 'anthropic',
      },
    ),
    pricing: PRICING,
  };
  const gemini = chatModel('acme/gemini', 'http://127.0.0.1:9', 'gemini-3-pro', {
    adapter: 'google',
    api_key_env: 'ACME_UNSET_KEY',
  });
  const grok: CatalogEntry = {
    ...chatModel('acme/grok', upstream.url, 'grok-4'),
    upstreams: [{ adapter: 'xai', model: 'grok-4' }],
  };
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [claude, gemini, grok, chatModel('acme/plain', upstream.url, 'plain')],
  });
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, ANTHROPIC_API_KEY: 'sk-ant-ours', XAI_API_KEY: '' },
  });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  maker.closeAllConnections();
  maker.close();
});

/** The events of a fixture, as Anthropic sends them. */
function events(name: string): string[] {
  const { events } = JSON.parse(readFileSync(join(FIXTURES, `chat-${name}.json`), 'utf8')) as {
    events: { type: string }[];
  };
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Events are booked in batches, and the machine may be busy. */
const LOG_TIMEOUT_MS = 60_000;
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

beforeEach(() => {
  answer = (_request, response) => {
    response.writeHead(200, EVENT_STREAM).end(events('stream').join(''));
  };
});

const headers = () => ({ authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' });
const get = async (path: string) =>
  (await fetch(stack.url + path, { headers: headers() })).json() as Promise<unknown>;

function chat(body: object, init: RequestInit = {}): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({ model: 'acme/claude', messages: [{ role: 'user', content: 'Hello' }], ...body }),
    ...init,
  });
}

const dataOf = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? '');

interface LogRow {
  status: string;
  cost: number;
  model: string;
  quantities: Record<string, number>;
  attempts: { model: string; upstream: string; status: number | null }[];
}

async function logOf(response: Response): Promise<LogRow> {
  const path = `/v1/logs/${response.headers.get('x-request-id')}`;
  await expect
    .poll(async () => (await fetch(stack.url + path, { headers: headers() })).status, {
      timeout: LOG_TIMEOUT_MS,
    })
    .toBe(200);
  return (await get(path)) as LogRow;
}

/** 47 tokens in, 300 more from the cache, 100 written to it; 373 out. */
const COST = 47 * 0.000003 + 300 * 0.0000003 + 100 * 0.00000375 + 373 * 0.000015;

test('a streamed answer of a maker comes as chunks under our name for the model, with its exact cost, and is in the log', async () => {
  let key: unknown;
  answer = (request, response) => {
    key = request.headers['x-api-key'];
    response.writeHead(200, EVENT_STREAM).end(events('stream').join(''));
  };
  const response = await chat({ stream: true, stream_options: { include_usage: true } });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const data = dataOf(await response.text());
  expect(key).toBe('sk-ant-ours');
  expect(data.at(-1)).toBe('[DONE]');
  const chunks = data.slice(0, -1).map((one) => JSON.parse(one) as Record<string, unknown>);
  expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['acme/claude']));
  const usages = chunks.filter(({ usage }) => usage);
  expect(usages).toHaveLength(1);
  expect(usages[0]?.usage).toEqual({
    prompt_tokens: 447,
    completion_tokens: 373,
    total_tokens: 820,
    prompt_tokens_details: { cached_tokens: 300, cache_write_tokens: 100 },
    completion_tokens_details: { reasoning_tokens: 62 },
    cost: Number(COST.toFixed(9)),
  });
  expect(await logOf(response)).toMatchObject({
    status: 'ok',
    model: 'acme/claude',
    cost: Number(COST.toFixed(9)),
    quantities: {
      input_tokens: 447,
      cached_input_tokens: 300,
      cache_write_input_tokens: 100,
      output_tokens: 373,
    },
    attempts: [{ model: 'acme/claude', upstream: 'anthropic:claude-sonnet-4-6', status: 200 }],
  });
});

test('the openai client puts a stream with parallel tool calls together', async () => {
  const client = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: stack.key, maxRetries: 0 });
  answer = (_request, response) => {
    response.writeHead(200, EVENT_STREAM).end(events('tool-calls-stream').join(''));
  };
  const { choices, usage } = await client.chat.completions
    .stream({
      model: 'acme/claude',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
    })
    .finalChatCompletion();
  expect(choices).toMatchObject([
    {
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [
          { function: { name: 'weather', arguments: '{"place": "Oslo"}' } },
          { function: { name: 'weather', arguments: '{"place": "Rome"}' } },
        ],
      },
    },
  ]);
  expect(usage).toMatchObject({ prompt_tokens: 472, completion_tokens: 89 });
});

test('a caller who goes away in mid-stream closes the socket of the maker, and pays for what it had counted', async () => {
  const closed = Promise.withResolvers<void>();
  answer = (_request, response) => {
    response.on('close', () => closed.resolve());
    response.writeHead(200, EVENT_STREAM);
    response.write(events('stream').slice(0, 5).join('')); // its first words, and then silence
  };
  const away = new AbortController();
  const response = await chat({ stream: true }, { signal: away.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  away.abort();
  await closed.promise;
  const row = await logOf(response);
  expect(row.status).toBe('cancelled');
  expect(row.cost).toBeGreaterThan(0);
});

test('a maker overloaded before its first word is followed by a fallback, streamed and not', async () => {
  for (const stream of [false, true]) {
    answer = (_request, response) => {
      const name = stream ? 'error-first-in-stream' : 'error-529';
      if (stream) response.writeHead(200, EVENT_STREAM).end(events(name).join(''));
      else response.writeHead(529, { 'content-type': 'application/json' }).end(fixtureJson(name));
    };
    const response = await chat({ stream, models: ['acme/plain'] });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('acme/plain');
    expect((await logOf(response)).attempts).toMatchObject([
      { model: 'acme/claude', status: 529 },
      { model: 'acme/plain', status: 200 },
    ]);
  }
});

test('a refusal of the model is its answer, and no other model is called', async () => {
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(fixtureJson('refusal'));
  };
  const response = await chat({ models: ['acme/plain'] });
  expect(await response.json()).toMatchObject({
    model: 'acme/claude',
    choices: [{ finish_reason: 'content_filter' }],
  });
  expect((await logOf(response)).attempts).toHaveLength(1);
});

test('a field that the maker lacks is 400 naming it; a fallback that has it is called instead', async () => {
  const refused = await chat({ seed: 7 });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: 'invalid_request', param: 'seed' } });
  expect((await logOf(refused)).status).toBe('refused');
  const served = await chat({ seed: 7, models: ['acme/plain'] });
  expect(await served.json()).toMatchObject({ model: 'acme/plain' });
});

test('an error in mid-stream ends the stream without [DONE], at no cost', async () => {
  answer = (_request, response) => {
    response.writeHead(200, EVENT_STREAM).end(events('error-mid-stream').join(''));
  };
  const response = await chat({ stream: true });
  const data = dataOf(await response.text());
  expect(data).not.toContain('[DONE]');
  expect(JSON.parse(data.at(-1) ?? '{}')).toMatchObject({ error: { code: 'upstream_error' } });
  expect(await logOf(response)).toMatchObject({ status: 'error', cost: 0 });
});

test('a model whose key is absent is listed as unavailable with the variable to set, the maker’s own by default', async () => {
  const about = async (id: string) => (await get(`/v1/models/${id}`)) as object;
  expect(await about('acme/claude')).toMatchObject({ available: true });
  expect(await about('acme/gemini')).toMatchObject({
    available: false,
    unavailable_reason: 'set ACME_UNSET_KEY to use this model',
  });
  expect(await about('acme/grok')).toMatchObject({
    available: false,
    unavailable_reason: 'set XAI_API_KEY to use this model',
  });
});

function fixtureJson(name: string): string {
  const { json } = JSON.parse(readFileSync(join(FIXTURES, `chat-${name}.json`), 'utf8')) as { json: unknown };
  return JSON.stringify(json);
}
