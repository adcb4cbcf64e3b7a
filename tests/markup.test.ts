// Two orgs side by side, one of which pays a mark-up of 12.5 %: exact prices of every kind of call, wherever they show.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Bus, connectBus } from '@switchyard/bus';
import {
  type CreatedOrg,
  type EventName,
  type ModelObject,
  type OrgObject,
  REQUEST_CHARGES,
  type Statement,
} from '@switchyard/contracts';
import { ROOT } from '@switchyard/local';
import { parseDollars } from '@switchyard/money';
import { makeLogger } from '@switchyard/service';
import {
  type EventLog,
  openEventLog,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SILENT_SECOND } from './__fixtures__/silent-second.ts';
import { callAs } from './__fixtures__/tenants.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

let upstream: Upstream;
let stack: TestStack;
let bus: Bus;
let events: EventLog;
let marked: CreatedOrg;
let plain: CreatedOrg;

beforeAll(async () => {
  upstream = await startUpstream();
  answerAsMakersDo();
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url }) },
    services: ['edge', 'control', 'model-router', 'video-worker', 'billing'],
  });
  bus = await connectBus({ url: stack.natsUrl, service: 'test', logger: makeLogger('test', 'silent') });
  events = await openEventLog(bus);
  marked = await operate('POST', '/v1/orgs', { name: 'Marked', markup_percent: 12.5 });
  plain = await operate('POST', '/v1/orgs', { name: 'Plain' });
});
beforeAll(untilMidnightIsFar);
afterAll(async () => {
  await events?.stop();
  await bus?.close();
  await stack?.stop();
  await upstream?.close();
});

const operate = <T>(method: string, path: string, body?: unknown) =>
  callAs<T>(stack, stack.key, method, path, body);
/** @param body JSON, or a form */
const post = (key: string, path: string, body: object) =>
  fetch(stack.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'x-service-tags': 'team=search',
      ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  });
const read = (key: string, path: string) =>
  fetch(stack.url + path, { headers: { authorization: `Bearer ${key}` } });

/** Answers by the makers' documentation, where priced. Chat and embeddings have recorded ones. */
function answerAsMakersDo(): void {
  const answers = {
    'image-1': { created: 1, data: [{ b64_json: 'aGk=' }] },
    'whisper-1': { task: 'transcribe', language: 'english', duration: 1, text: 'Hi.', segments: [] },
    'decide-1': {
      answers: { warm: { type: 'boolean', probability: 0.75 } },
      usage: { inputTokens: 42, outputTokens: 3 },
    },
    'rerank-1': {
      results: [{ index: 0, relevance_score: 0.9 }],
      meta: { billed_units: { search_units: 1 } },
    },
  };
  for (const [model, answer] of Object.entries(answers))
    upstream.on(model, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  upstream.on('tts-1', (_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound');
  });
}

const messages = [{ role: 'user', content: 'Hello!' }];
const chat = { model: 'acme/chat-1', messages };
const warm = { type: 'boolean', instructions: 'Is it warm?' };
const speech = { model: 'acme/speech-1', input: 'Hello', voice: 'alloy' };

function form(fields: Readonly<Record<string, string | File>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  return data;
}

/** Each with its nano-dollars at the price list and with 12.5 %. */
const CALLS: [name: string, path: string, body: object, list: bigint, withMarkup: bigint][] = [
  ['chat', '/v1/chat/completions', chat, 8_850n, 9_956n], // 9956.25
  ['chat, streamed', '/v1/chat/completions', { ...chat, stream: true }, 8_850n, 9_956n],
  ['responses', '/v1/responses', { model: 'acme/chat-1', input: 'Hello!', store: false }, 8_850n, 9_956n],
  ['completions', '/v1/completions', { model: 'acme/chat-1', prompt: 'Hello!' }, 8_850n, 9_956n],
  ['messages', '/v1/messages', { ...chat, max_tokens: 50 }, 8_850n, 9_956n],
  ['messages, streamed', '/v1/messages', { ...chat, max_tokens: 50, stream: true }, 8_850n, 9_956n],
  ['embedding', '/v1/embeddings', { model: 'acme/embed-1', input: 'one' }, 160n, 180n],
  ['image', '/v1/images/generations', { model: 'acme/image-1', prompt: 'a cat' }, 40_000_000n, 45_000_000n],
  ['speech', '/v1/audio/speech', speech, 75_000n, 84_375n],
  [
    'transcription',
    '/v1/audio/transcriptions',
    { model: 'acme/transcribe-1', audio: SILENT_SECOND.toString('base64'), media_type: 'audio/wav' },
    ...([100_000n, 112_500n] as const),
  ],
  [
    'transcription, as a form',
    '/v1/audio/transcriptions',
    form({
      model: 'acme/transcribe-1',
      file: new File([new Uint8Array(SILENT_SECOND)], 'silence.wav', { type: 'audio/wav' }),
    }),
    ...([100_000n, 112_500n] as const),
  ],
  [
    'decision',
    '/v1/decisions',
    { model: 'acme/decide-1', state: 'It is sunny.', questions: { warm } },
    ...([5_400n, 6_075n] as const),
  ],
  [
    'rerank',
    '/v1/rerank',
    { model: 'acme/rerank-1', query: 'a', documents: ['a', 'b'] },
    ...([2_000_000n, 2_250_000n] as const),
  ],
  [
    'video',
    '/v1/videos/generations',
    { model: 'acme/video-1', prompt: 'a cat', duration: 3, resolution: '480p' },
    ...([150_000_000n, 168_750_000n] as const),
  ],
];

/** The cost in the header of the answer, and in its usage; null where it has none. */
async function costsOf(answer: Response): Promise<(bigint | null)[]> {
  const text = await answer.text();
  expect(answer.status, text).toBeLessThan(300);
  const header = answer.headers.get('x-service-cost');
  const member = [...text.matchAll(/"cost":([\d.e-]+)/g)].at(-1)?.[1];
  return [header === null ? null : parseDollars(header), member ? parseDollars(Number(member)) : null];
}

describe('an org with a mark-up of 12.5 %, beside one without', () => {
  const charging = new Set<EventName>();

  test.each(CALLS)('%s costs exactly that much more', async (_name, path, body, list, withMarkup) => {
    for (const [org, cost, markuppercent] of [
      [plain, list, undefined],
      [marked, withMarkup, '12.5'],
    ] as const) {
      const answer = await post(org.key, path, body);
      const id = answer.headers.get('x-request-id');
      const [header, member] = await costsOf(answer);
      const isStream = 'stream' in body;
      expect(header).toBe(isStream ? null : cost);
      if (isStream || member !== null) expect(member).toBe(cost);
      const event = await events.until(
        `the charge of ${id}`,
        ({ data }) => 'lines' in data && 'request_id' in data && data.request_id === id,
      );
      expect(event).toMatchObject({ data: { cost_nano: String(cost), tags: { team: 'search' } } });
      expect(event.markuppercent).toBe(markuppercent);
      charging.add(event.type);
    }
  });

  test('every event that charges a request has a call here', () => {
    expect([...charging].sort()).toEqual(REQUEST_CHARGES.toSorted());
  });

  test('a failed video is refunded in full', async () => {
    for (const [org, cost] of [
      [plain, '150000000'],
      [marked, '168750000'],
    ] as const) {
      const isIts = ({ type, data }: (typeof events.all)[number]) =>
        type === 'video.refunded' && data.org === org.id;
      expect(await events.until('the refund', isIts)).toMatchObject({ data: { cost_nano: cost } });
    }
  });

  test('Usage, Logs and the statement add up to what the answers said, at the rates of the org', async () => {
    const month = new Date().toISOString().slice(0, 7);
    for (const [org, at] of [
      [plain, 3],
      [marked, 4],
    ] as const) {
      const charged = CALLS.reduce((sum, call) => sum + (call[at] as bigint), 0n);
      const due = charged - (CALLS.at(-1)?.[at] as bigint); // the video failed
      const get = <T>(path: string) => callAs<T>(stack, org.key, 'GET', path);
      await untilBooked(stack.url, org.key);
      const usage = await get<{ total: { cost: number } }>('/v1/usage');
      expect(parseDollars(usage.total.cost)).toBe(due);
      const { data } = await get<{ data: { cost: number }[] }>('/v1/logs?limit=100');
      expect(data.reduce((sum, { cost }) => sum + parseDollars(cost), 0n)).toBe(due);
      const { total, lines } = await get<Statement>(`/v1/statements/${month}`);
      expect(parseDollars(total)).toBe(due);
      const { rates } = lines.find(({ model }) => model === 'acme/chat-1') ?? {};
      expect(rates).toEqual(
        at === 3
          ? [
              { unit: 'input_token', rate: '0.00000015' },
              { unit: 'output_token', rate: '0.0000006' },
            ]
          : [
              { unit: 'input_token', rate: '0.00000016875' },
              { unit: 'output_token', rate: '0.000000675' },
            ],
      );
    }
  });

  test('each sees its own prices in the list of models', async () => {
    const priceOf = async (org: CreatedOrg, model: string) =>
      (await callAs<ModelObject>(stack, org.key, 'GET', `/v1/models/${model}`)).pricing;
    expect(await priceOf(plain, 'acme/video-1')).toEqual({
      second: { '480p': '0.05', '720p': '0.10', '1080p': '0.20' },
    });
    expect(await priceOf(marked, 'acme/video-1')).toEqual({
      second: { '480p': '0.05625', '720p': '0.1125', '1080p': '0.225' },
    });
    const { data } = await callAs<{ data: ModelObject[] }>(stack, marked.key, 'GET', '/v1/models');
    expect(data.find(({ id }) => id === 'acme/speech-1')?.pricing).toEqual({ character: '0.000016875' });
  });

  test('only the operator sees the percentage', async () => {
    expect((await operate<OrgObject>('GET', `/v1/orgs/${marked.id}`)).markup_percent).toBe('12.5');
    expect((await operate<OrgObject>('GET', `/v1/orgs/${plain.id}`)).markup_percent).toBe('0');
    const month = new Date().toISOString().slice(0, 7);
    for (const path of ['account', 'logs', 'usage', `statements/${month}`, 'models', 'keys', 'audit-log'])
      expect(await (await read(marked.key, `/v1/${path}`)).text(), path).not.toMatch(/markup|"12\.5"/);
    const stream = await read(marked.key, '/v1/events?since=0');
    let seen = '';
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += piece;
      if (seen.split('"cost_nano"').length > CALLS.length) break;
    }
    expect(seen).toContain('"rate":"0.00000016875"');
    expect(seen).not.toMatch(/markup|"12\.5"/);
    expect((await read(marked.key, `/v1/orgs/${marked.id}`)).status).toBe(403);
  });
});

test('a prepaid org holds its own price: a nano-dollar less than that is refused', async () => {
  const org = await operate<CreatedOrg>('POST', '/v1/orgs', {
    ...{ name: 'Prepaid', billing: 'prepaid', credits: 0.000084374, markup_percent: '12.50' },
  });
  expect((await post(org.key, '/v1/audio/speech', speech)).status).toBe(402);
  await operate('POST', `/v1/orgs/${org.id}/credits`, { amount: 1e-9, reason: 'what was missing' });
  await untilBooked(stack.url, org.key);
  expect((await costsOf(await post(org.key, '/v1/audio/speech', speech)))[0]).toBe(84_375n);
  const account = () => callAs<{ balance: number; held: number }>(stack, org.key, 'GET', '/v1/account');
  await expect.poll(account).toMatchObject({ balance: 0, held: 0 });
});

test('a refund gives back what was charged, and a new mark-up applies to later calls', async () => {
  const org = await operate<CreatedOrg>('POST', '/v1/orgs', { name: 'Changed', markup_percent: '100' });
  const first = await post(org.key, '/v1/chat/completions', chat);
  expect(await costsOf(first)).toEqual([17_700n, 17_700n]);
  const request_id = first.headers.get('x-request-id');
  await untilBooked(stack.url, org.key);
  const refund = await operate<{ amount: number }>('POST', `/v1/orgs/${org.id}/refunds`, {
    ...{ request_id, reason: 'of no use' },
  });
  expect(refund.amount).toBe(0.0000177);
  await operate('PATCH', `/v1/orgs/${org.id}`, { markup_percent: 0.01 });
  const price = async () => {
    const { pricing } = await callAs<ModelObject>(stack, org.key, 'GET', '/v1/models/acme/chat-1');
    return pricing.output_token;
  };
  await expect.poll(price).toBe('0.00000060006');
  expect(await costsOf(await post(org.key, '/v1/chat/completions', chat))).toEqual([8_851n, 8_851n]); // 8850.885
  await operate('PATCH', `/v1/orgs/${org.id}`, { markup_percent: '0' });
  await expect.poll(price).toBe('0.0000006');
  expect(await costsOf(await post(org.key, '/v1/chat/completions', chat))).toEqual([8_850n, 8_850n]);
});

test('an invalid percentage is refused', async () => {
  for (const markup_percent of [-1, 1_000.01, '12.345', 'much', null]) {
    const answer = await post(stack.key, '/v1/orgs', { name: 'X', markup_percent });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param: 'markup_percent' } },
    ]);
  }
});

test('npm run audit finds no drift: each cost is the sum of its marked-up lines', async () => {
  const main = join(ROOT, 'services/billing/src/audit/main.ts');
  const env = { ...process.env, NATS_URL: stack.natsUrl, MONGODB_URL: stack.mongoUrl };
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--idle'], { env });
  expect(stdout).toContain('zero drift');
});
