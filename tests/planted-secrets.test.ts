// Plants secrets (makers' keys, a caller's key, a prompt, an answer) in everything that a caller and a maker send, then
// searches what the installation writes and answers: logs, events, buckets, answers and errors.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bus, connectBus } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import {
  type CatalogEntry,
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  type UpstreamRequest,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawMessages } from './__fixtures__/raw-messages.ts';

const SECRETS = {
  'maker’s key of the environment': 'planted-environment-key-7f3a',
  'maker’s key set by the API': 'planted-api-key-91bc',
  prompt: 'planted-prompt-c04e',
  answer: 'planted-answer-5d2b',
} as const;
const PROMPT = SECRETS.prompt;
const ANSWER = SECRETS.answer;

let upstream: Upstream;
let stack: TestStack;
let bus: Bus;
/** The key of the caller. */
let key: string;
/** All answers to callers: head and body. */
const answers: { of: string; status: number; text: string }[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  for (const [model, answer] of Object.entries(MISBEHAVIOURS)) upstream.on(model, answer);
  const ofApi = { api_key_env: 'ACME_API_KEY' };
  const keyed = (name: string) => chatModel(`acme/${name}`, upstream.url, name, ofApi);
  const film: CatalogEntry = {
    ...keyed('film'),
    type: 'video',
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.01' } },
  };
  const models = [
    ...Object.keys(MISBEHAVIOURS)
      .filter((name) => name !== '' && name !== 'film' && name !== 'claude')
      .map(keyed),
    film,
    chatModel('acme/claude', upstream.url, 'claude', { adapter: 'anthropic' }),
    chatModel('acme/ofenv', upstream.url, 'quotes', { api_key_env: 'ENV_API_KEY' }),
  ];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  stack = await startStack({
    env: {
      SWITCHYARD_CATALOG: catalog,
      LOG_LEVEL: 'trace',
      ENV_API_KEY: SECRETS['maker’s key of the environment'],
      ANTHROPIC_API_KEY: SECRETS['maker’s key of the environment'],
    },
  });
  bus = await connectBus({ url: stack.natsUrl, service: 'test', logger: makeLogger('test', 'silent') });
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
  await upstream?.close();
});

type Answer = Parameters<Upstream['on']>[1];

const keyIn = ({ headers }: UpstreamRequest) =>
  String(headers['x-api-key'] ?? headers.authorization?.slice('Bearer '.length));
const json =
  (status: number, body: (request: UpstreamRequest) => unknown): Answer =>
  (request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body(request)));
  };
const quoting = (request: UpstreamRequest) => ({
  error: { message: `No: ${keyIn(request)} may not.`, type: 'invalid_request_error', code: 'no' },
});
const completion = () => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`;

/** What makers do, by the model. */
const MISBEHAVIOURS: Readonly<Record<string, Answer>> = {
  good: (request, response) => {
    if (request.json?.stream !== true) return json(200, completion)(request, response);
    const usage = `data: ${JSON.stringify({ id: 'c', choices: [], usage: completion().usage })}\n\n`;
    response.writeHead(200, EVENT_STREAM);
    response.end(`${chunk({ content: ANSWER })}${usage}data: [DONE]\n\n`);
  },
  quotes: json(400, quoting),
  refuses: json(401, quoting),
  fails: json(500, quoting),
  quoteslate: (request, response) => {
    response.writeHead(200, EVENT_STREAM);
    response.end(`${chunk({ content: 'well' })}data: ${JSON.stringify(quoting(request))}\n\n`);
  },
  broken: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${ANSWER} is not JSON`);
  },
  brokenstream: (_request, response) => {
    response.writeHead(200, EVENT_STREAM).end(`${chunk({ content: 'well' })}data: ${ANSWER}\n\n`);
  },
  cut: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9000' });
    response.write(`{"choices": "${ANSWER}`);
    response.destroy();
  },
  claude: json(400, (request) => ({ type: 'error', ...quoting(request) })),
  film: json(200, () => ({ id: 'job', status: 'queued' })),
  // The status check of a video is the only request without a model.
  '': json(200, (request) => ({ id: 'job', status: 'failed', error: `No: ${keyIn(request)} may not.` })),
};

async function send(method: string, path: string, body?: object | string, headers = {}): Promise<Response> {
  const response = await fetch(`${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const head = [...response.headers].map((header) => header.join(': ')).join('\n');
  const { status } = response;
  answers.push({ of: `${method} ${path}`, status, text: `${head}\n${await response.clone().text()}` });
  return response;
}

async function plant(): Promise<void> {
  key = stack.key;
  const permissions = ['models:write', 'usage:read'];
  const made = (await (await send('POST', '/v1/keys', { name: 'caller', permissions })).json()) as {
    key: string;
  };
  answers.length = 0; // the only answer that shows the key
  await send('PUT', '/v1/providers/acme', { api_key: SECRETS['maker’s key set by the API'] });
  await send('GET', '/v1/providers');
  const usesIt = async () => {
    const { status } = await send('POST', '/v1/chat/completions', chatOf('good'));
    return status;
  };
  await expect.poll(usesIt).toBe(200);
  key = made.key;
  for (const model of Object.keys(MISBEHAVIOURS).filter((name) => name !== '' && name !== 'film')) {
    await send('POST', '/v1/chat/completions', chatOf(model));
    await send('POST', '/v1/chat/completions', { ...chatOf(model), stream: true });
    await send('POST', '/v1/responses', { model: `acme/${model}`, input: PROMPT });
    await send('POST', '/v1/messages', { ...chatOf(model), max_tokens: 9 });
  }
  await send('POST', '/v1/chat/completions', chatOf('ofenv'));
  await send('POST', '/v1/chat/completions', chatOf('good'), { 'idempotency-key': 'planted' });
  await sendWrong();
  await filmed();
  await booked();
}

const chatOf = (model: string) => ({
  model: `acme/${model}`,
  messages: [{ role: 'user', content: PROMPT }],
});

/** Requests that are refused before a maker sees them. */
async function sendWrong(): Promise<void> {
  await send('POST', '/v1/chat/completions', `{"model": "acme/good", "messages": ${PROMPT}`);
  await send('POST', '/v1/chat/completions', { ...chatOf('good'), max_tokens: PROMPT });
  await send('POST', '/v1/embeddings', { model: 'acme/good', input: PROMPT });
  await send('POST', '/v1/keys', { name: PROMPT });
  await send('PUT', '/v1/providers/acme', { api_key: `${SECRETS['maker’s key set by the API']} ` });
  const former = key;
  key = stack.key;
  await send('PUT', '/v1/providers/acme', { api_key: `${SECRETS['maker’s key set by the API']} ` });
  await send('PUT', '/v1/providers/no-maker', { api_key: SECRETS['maker’s key set by the API'] });
  key = `${former}x`;
  await send('GET', '/v1/models');
  key = former;
}

/** A video whose maker quotes our key. */
async function filmed(): Promise<void> {
  const film = { model: 'acme/film', prompt: PROMPT, duration: 1 };
  const { id } = (await (await send('POST', '/v1/videos/generations', film)).json()) as { id: string };
  const status = async () =>
    ((await (await send('GET', `/v1/videos/${id}`)).json()) as { status: string }).status;
  await expect.poll(status).toBe('failed');
}

/** Everything is in Logs: what follows from the calls has happened. */
async function booked(): Promise<void> {
  const calls = answers.filter(({ of }) => of.startsWith('POST')).length;
  const rows = async () =>
    ((await (await send('GET', '/v1/logs?limit=1000')).json()) as { data: unknown[] }).data.length;
  await expect.poll(rows).toBeGreaterThan(calls / 2);
}

/** The names of the secrets that a text holds. */
function foundIn(text: string, secrets: Readonly<Record<string, string>> = { ...SECRETS, caller: key }) {
  return Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [name] : []));
}

test('the makers got the keys and the prompts, and callers the answers: the search has something to find', async () => {
  await plant();
  const sent = upstream.requests.map((request) => `${keyIn(request)} ${request.body}`).join('\n');
  expect(foundIn(sent)).toEqual(['maker’s key of the environment', 'maker’s key set by the API', 'prompt']);
  expect(foundIn(answers.map(({ text }) => text).join('\n'))).toContain('answer');
});

test('no log holds one, at the most verbose level', async () => {
  const names = await readdir(join(stack.dataFolder, 'logs'));
  const services = ['edge', 'control', 'model-router', 'video-worker', 'billing'].map(
    (name) => `${name}.log`,
  );
  expect(names).toEqual(expect.arrayContaining(services));
  for (const name of names) {
    const text = await stack.log(name.replace(/\.log$/, ''));
    const lines = text.split('\n').filter((line) => foundIn(line).length > 0);
    expect(lines, name).toEqual([]);
  }
  expect(foundIn(stack.output())).toEqual([]);
});

test('no event, receipt or bucket holds one, in the bytes as they are stored', async () => {
  const streams = (await bus.jsm.streams.list().next()).map(({ config }) => config.name);
  // Object stores hold what callers store: inputs of videos, for the maker.
  const searched = streams.filter((name) => !name.startsWith('OBJ_') || name === 'OBJ_idempotency');
  expect(searched).toEqual(expect.arrayContaining(['EVENTS', 'REFUSALS', 'KV_provider-keys', 'KV_videos']));
  for (const name of searched) expect(foundIn(await rawMessages(bus, name)), name).toEqual([]);
});

test('no answer holds a key, and no error a prompt or an answer', () => {
  const { prompt: _, answer: __, ...keys } = SECRETS;
  for (const { of, status, text } of answers) {
    expect(foundIn(text, { ...keys, caller: key }), `${of}: ${text}`).toEqual([]);
    if (status >= 400) expect(foundIn(text), `${of}: ${text}`).toEqual([]);
  }
});
