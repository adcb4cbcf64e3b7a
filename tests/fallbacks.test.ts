// Misbehaving upstreams, in each dialect, translated and passed through, streamed and not, with and without a fallback
// model: the attempts made, the answer to the client, the charge, and the log. Through the whole stack: HTTP, edge, NATS,
// router, sockets, and billing's ledger.
import {
  type CatalogEntry,
  chatModel,
  FIXTURES,
  ownPort,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answer,
  events,
  headOf,
  type RawExchange,
  type RawScript,
  type RawUpstream,
  SSE_END,
  SSE_HEAD,
  startRawUpstream,
  startSilence,
  startTlsWithoutCertificate,
  UNKNOWN_HOST_URL,
} from './__fixtures__/raw-upstream.ts';
import { SPOKEN, type Spoken } from './__fixtures__/spoken-dialects.ts';
import { DONE, WORDINGS, type Wording } from './__fixtures__/upstream-wordings.ts';

/** Timeout of attempts that are meant to time out: long enough to start one on a busy machine. */
const FIRST_BYTE_MS = 5_000;
const NOT_BEGUN = new RegExp(`had not begun to answer within ${FIRST_BYTE_MS} ms`);
/** For upstreams that stall: long enough to send the first bytes on a busy machine. */
const STALL_MS = 10_000;
const SILENT = new RegExp(`sent nothing for ${STALL_MS} ms`);
/** Room for an attempt that times out or cannot connect, and for a good one after it. */
const CALL_TIMEOUT_S = 20;
/** Two such delays exceed the time limit of a call; one does not. */
const LATE_FIRST_BYTE_MS = 12_000;
/** Pause between pieces of one answer. */
const PIECE_MS = 200;

const completion = FIXTURES.text;
const said = completion.choices[0]?.message.content ?? '';
const GOOD = WORDINGS.chat.whole({ content: said }, 'stop');
const error = (name: keyof typeof FIXTURES.errors) => JSON.stringify(FIXTURES.errors[name]);
const OVERLOADED = { message: 'Overloaded', type: 'server_error', code: null };
/** Azure's wording of a refusal, which it may also send in a stream. */
const FILTERED = { message: 'The response was filtered', code: 'content_filter', type: null };

/** The same response, streamed and not. */
const status =
  (code: number, body: string, headers: Record<string, string> = {}): RawScript =>
  ({ socket }) =>
    socket.write(answer(code, body, headers));
/** Different responses, streamed and not. */
const either =
  (stream: RawScript, notStream: RawScript): RawScript =>
  (exchange) =>
    (exchange.stream ? stream : notStream)(exchange);
const sse =
  (...data: (string | object)[]): RawScript =>
  ({ socket }) =>
    socket.write(SSE_HEAD + events(...data) + SSE_END);
const begin =
  (...data: (string | object)[]): RawScript =>
  ({ socket }) =>
    socket.write(SSE_HEAD + (data.length > 0 ? events(...data) : ''));
const withCut =
  (script: RawScript): RawScript =>
  (exchange) => {
    script(exchange);
    exchange.after(PIECE_MS, () => exchange.socket.destroy());
  };

/**
 * The expected outcome. `fault`: another model is tried; without one, this error. `begun`: the answer had started, so
 * it breaks off with this error. `refusal`: the error is the answer. `answer`: an answer, however little it contains.
 */
type Expected =
  | { is: 'fault'; status: number; code: string; attempts?: number; retryAfter?: string; log?: 'refused' }
  | { is: 'begun'; code: string }
  | { is: 'refusal' }
  | { is: 'answer'; cost: 'free' | 'charged' };

const fault = (more: Partial<Extract<Expected, { is: 'fault' }>> = {}): Expected => ({
  is: 'fault',
  status: 502,
  code: 'upstream_error',
  ...more,
});
const LATE = fault({ status: 504, code: 'upstream_timeout' });
const BUSY = fault({ status: 429, code: 'rate_limited' });
const REFUSAL: Expected = { is: 'refusal' };

interface Row {
  name: string;
  /** An address without a scripted upstream. */
  at?: 'refusing' | 'unknown host' | 'no certificate' | 'no TLS' | 'silence';
  script?: RawScript;
  /** Its attempts are meant to time out, after these milliseconds. */
  quick?: number;
  stream: Expected;
  whole: Expected;
  /** The logged attempt. */
  log: { status: number | null; error: RegExp };
}

const both = (expected: Expected) => ({ stream: expected, whole: expected });

/** The faults of an upstream that words its answers so. */
function rowsOf({ begin: role, token, refusal, end, whole, empty, failed }: Wording): Row[] {
  const good = whole({ content: said }, 'stop');
  const error = (name: keyof typeof FIXTURES.errors) =>
    JSON.stringify(failed(FIXTURES.errors[name]?.error ?? {}));
  const overloaded = failed(OVERLOADED);
  const filtered = failed(FILTERED);
  const limited = failed({ message: 'Slow down', code: 429 });
  /** A stream that starts, and sends the rest after its caller has read the start. */
  const begunThen =
    (...rest: (string | object)[]): RawScript =>
    (exchange) => {
      begin(...role, token)(exchange);
      exchange.after(PIECE_MS, () => exchange.socket.write(events(...rest) + SSE_END));
    };
  const half: RawScript = ({ socket }) =>
    socket.write(headOf('application/json', good.length) + good.slice(0, good.length / 2));
  return [
    { name: 'refused', at: 'refusing', ...both(fault()), log: { status: null, error: /ECONNREFUSED/ } },
    {
      name: 'reset',
      script: ({ socket }) => socket.resetAndDestroy(),
      ...both(fault()),
      log: { status: null, error: /ECONNRESET|UND_ERR_SOCKET/ },
    },
    {
      name: 'unknown-host',
      at: 'unknown host',
      ...both(fault()),
      log: { status: null, error: /ENOTFOUND|EAI_AGAIN/ },
    },
    {
      name: 'tls-without-certificate',
      at: 'no certificate',
      ...both(fault()),
      log: { status: null, error: /connection to the upstream failed: (ERR_SSL|EPROTO|ECONNRESET)/ },
    },
    {
      name: 'no-tls',
      at: 'no TLS',
      ...both(fault()),
      log: { status: null, error: /connection to the upstream failed: (ERR_SSL|EPROTO)/ },
    },
    {
      name: 'tls-that-hangs',
      at: 'silence',
      ...both(fault()),
      log: { status: null, error: /connection to the upstream failed: UND_ERR_CONNECT_TIMEOUT/ },
    },
    {
      name: '429',
      script: status(429, error('429')),
      ...both(fault({ status: 429, code: 'rate_limited', retryAfter: '1' })),
      log: { status: 429, error: /Rate limit reached/ },
    },
    {
      name: '429-come-back-in-a-second',
      script: status(429, error('429'), { 'retry-after': '1' }),
      ...both(fault({ status: 429, code: 'rate_limited', retryAfter: '1', attempts: 3 })),
      log: { status: 429, error: /Rate limit reached/ },
    },
    {
      name: '429-come-back-in-an-hour',
      script: status(429, error('429'), { 'retry-after': '3600' }),
      ...both(fault({ status: 429, code: 'rate_limited', retryAfter: '3600' })),
      log: { status: 429, error: /Rate limit reached/ },
    },
    {
      name: '500',
      script: status(500, error('500')),
      ...both(fault()),
      log: { status: 500, error: /had an error/ },
    },
    {
      name: '503',
      script: status(503, error('503')),
      ...both(fault()),
      log: { status: 503, error: /overloaded/ },
    },
    {
      name: '500-html',
      script: status(500, '<html>'),
      ...both(fault()),
      log: { status: 500, error: /answered 500/ },
    },
    {
      name: '401',
      script: status(401, error('401')),
      ...both(fault()),
      log: { status: 401, error: /^the upstream refused our credentials \(401\)$/ },
    },
    {
      name: '404',
      script: status(404, error('404')),
      ...both(fault()),
      log: { status: 404, error: /does not exist/ },
    },
    {
      name: 'context-too-long',
      script: status(400, error('context')),
      ...both(fault({ status: 400, code: 'upstream_rejected', log: 'refused' })),
      log: { status: 400, error: /maximum context length/ },
    },
    {
      name: 'slow-headers',
      quick: FIRST_BYTE_MS,
      script: () => {},
      ...both(LATE),
      log: { status: null, error: NOT_BEGUN },
    },
    {
      name: 'answer-after-the-deadline',
      quick: FIRST_BYTE_MS,
      script: (exchange) =>
        exchange.after(2 * FIRST_BYTE_MS, () =>
          either(sse(...role, token, ...end('stop')), status(200, good))(exchange),
        ),
      ...both(LATE),
      log: { status: null, error: NOT_BEGUN },
    },
    {
      name: 'no-first-token',
      quick: FIRST_BYTE_MS,
      script: either(begin(), ({ socket }) => socket.write(headOf('application/json', 100))),
      ...both(LATE),
      log: { status: null, error: NOT_BEGUN },
    },
    {
      name: 'kept-alive-without-a-token',
      quick: FIRST_BYTE_MS,
      script: (exchange) => {
        const { socket, stream } = exchange;
        socket.write(stream ? SSE_HEAD + events(...role) : headOf('application/json', good.length + 1_000));
        exchange.every(100, () => socket.write(stream ? events(': keep-alive', ...role) : '\n'));
      },
      ...both(LATE),
      log: { status: null, error: NOT_BEGUN },
    },
    {
      name: 'stall',
      quick: STALL_MS,
      script: either(begin(...role, token, token), half),
      stream: { is: 'begun', code: 'upstream_timeout' },
      whole: LATE,
      log: { status: null, error: SILENT },
    },
    {
      name: 'cut-before-a-token',
      script: withCut(either(begin(...role), half)),
      ...both(fault()),
      log: { status: null, error: /UND_ERR_SOCKET|other side closed|terminated|UND_ERR/ },
    },
    {
      name: 'cut',
      script: withCut(either(begin(...role, token, token), half)),
      stream: { is: 'begun', code: 'upstream_error' },
      whole: fault(),
      log: { status: null, error: /UND_ERR_SOCKET|other side closed|terminated|UND_ERR/ },
    },
    {
      name: 'ended-early',
      script: either(sse(...role, token), status(200, good.slice(0, -20))),
      stream: { is: 'begun', code: 'upstream_error' },
      whole: fault(),
      log: { status: 200, error: /cut short|not a JSON/ },
    },
    {
      name: 'left-open',
      script: either(begin(...role, token, ...end('stop')), status(200, good)),
      ...both({ is: 'answer', cost: 'charged' }),
      log: { status: 200, error: /./ },
    },
    {
      name: 'malformed-from-the-start',
      script: either(sse('data: {"choices":[{"delta"', DONE), status(200, '<html>busy</html>')),
      ...both(fault()),
      log: { status: 200, error: /not JSON|not a JSON/ },
    },
    {
      name: 'malformed',
      script: either(begunThen('data: {not json}', token, DONE), status(200, '{"choices": [{]}')),
      stream: { is: 'begun', code: 'upstream_error' },
      whole: fault(),
      log: { status: 200, error: /not JSON|not a JSON/ },
    },
    {
      name: 'nothing',
      script: either(sse(), status(200, '')),
      ...both(fault()),
      log: { status: 200, error: /no events|cut short|is empty/ },
    },
    {
      name: 'no-choices',
      script: either(sse(...empty.stream), status(200, empty.whole)),
      ...both(fault()),
      log: { status: 200, error: /before its first event|cut short|no (choices|output|content)/ },
    },
    {
      name: 'empty-text',
      script: either(sse(...role, ...end('stop', 'nothing')), status(200, whole({ content: '' }, 'stop'))),
      ...both(fault()),
      log: { status: 200, error: /without an answer in it|nothing in it/ },
    },
    {
      name: 'error-in-a-200',
      script: either(sse(...role, overloaded), status(200, JSON.stringify(overloaded))),
      ...both(fault()),
      log: { status: 200, error: /reported an error: Overloaded/ },
    },
    {
      name: 'named-error-event',
      script: either(
        sse(...role, 'event: error\ndata: {"message":"Overloaded"}'),
        status(200, JSON.stringify({ error: 'Overloaded' })),
      ),
      ...both(fault()),
      log: { status: 200, error: /reported an error: Overloaded/ },
    },
    {
      name: 'error-after-a-token',
      script: either(begunThen(overloaded, DONE), status(200, JSON.stringify(overloaded))),
      stream: { is: 'begun', code: 'upstream_error' },
      whole: fault(),
      log: { status: 200, error: /reported an error: Overloaded/ },
    },
    {
      name: 'limited-in-a-200',
      script: either(sse(limited), status(200, JSON.stringify(limited))),
      ...both(BUSY),
      log: { status: 200, error: /reported an error: Slow down/ },
    },
    {
      name: 'policy-400',
      script: status(400, error('policy')),
      ...both(REFUSAL),
      log: { status: 400, error: /safety system/ },
    },
    {
      name: 'policy-403',
      script: status(403, '{"error":{"message":"Input was flagged by moderation","code":403}}'),
      ...both(REFUSAL),
      log: { status: 403, error: /flagged/ },
    },
    {
      name: 'invalid-400',
      script: status(400, error('400')),
      ...both(REFUSAL),
      log: { status: 400, error: /Unrecognized request argument/ },
    },
    {
      name: 'policy-in-a-200',
      script: either(sse(...role, filtered), status(200, JSON.stringify(filtered))),
      ...both(REFUSAL),
      log: { status: 200, error: /filtered/ },
    },
    {
      name: 'policy-in-a-200-that-does-not-stream',
      script: status(200, JSON.stringify(filtered)),
      ...both(REFUSAL),
      log: { status: 200, error: /filtered/ },
    },
    {
      name: 'filtered-to-nothing',
      script: either(
        sse(...role, ...end('content_filter')),
        status(200, whole({ content: '' }, 'content_filter')),
      ),
      ...both({ is: 'answer', cost: 'free' }),
      log: { status: 200, error: /./ },
    },
    {
      name: 'filtered-in-the-middle',
      script: either(
        sse(...role, token, ...end('content_filter')),
        status(200, whole({ content: 'Hello' }, 'content_filter')),
      ),
      ...both({ is: 'answer', cost: 'charged' }),
      log: { status: 200, error: /./ },
    },
    {
      name: 'refused-in-words',
      script: either(
        sse(...role, refusal('I cannot help with that.'), ...end('stop')),
        status(200, whole({ refusal: 'I cannot help with that.' }, 'stop')),
      ),
      ...both({ is: 'answer', cost: 'charged' }),
      log: { status: 200, error: /./ },
    },
  ];
}

interface Cell {
  row: Row;
  adapter: Wording['adapter'];
  dialect: Spoken;
  stream: boolean;
  alone: boolean;
  model: string;
  /** The fallback model and its upstream's name. */
  spare: string;
}

/** Each dialect with an upstream that speaks chat, and with one that speaks the dialect, where there is one. */
const SERVED = Object.entries(WORDINGS).flatMap(([wording, words]) =>
  (Object.keys(SPOKEN) as Spoken[]).filter(words.serves).map((dialect) => ({
    ...{ words, adapter: words.adapter, dialect },
    suffix: wording === 'chat' ? dialect : `${dialect}.native`,
  })),
);

/** Only chat waits for timeouts and for unreachable addresses: the dialects share what comes before an answer. */
const CELLS: Cell[] = SERVED.flatMap(({ words, adapter, dialect, suffix }) =>
  rowsOf(words)
    .filter(({ at, quick }) => dialect === 'chat' || !(at || quick))
    .flatMap((row) =>
      [true, false].flatMap((stream) =>
        [true, false].map((alone) => {
          const how = [stream ? 'stream' : 'whole', alone ? 'alone' : 'fallback'];
          const name = [row.name, ...how, suffix].join('.');
          return { row, adapter, dialect, stream, alone, model: name, spare: `spare.${name}` };
        }),
      ),
    ),
);

// Other model types: their peculiarities, and one simple fault for each.

const VECTORS = JSON.stringify(FIXTURES.embeddings);
const PNG = Buffer.from('a picture').toString('base64');
const PICTURES = JSON.stringify({ created: 1, data: [{ b64_json: PNG }] });
const SOUND = 'ID3'.padEnd(4_096, 'sound');

interface Kind {
  path: string;
  body: object;
  entry: Pick<CatalogEntry, 'type' | 'modalities' | 'pricing'>;
  /** A good answer as sent over the wire. */
  good: string;
  cost: number;
}

const KINDS = {
  embedding: {
    path: '/v1/embeddings',
    body: { input: 'Hello!' },
    entry: {
      type: 'embedding',
      modalities: { input: ['text'], output: ['embedding'] },
      pricing: { input_token: '0.00000002' },
    },
    good: answer(200, VECTORS),
    cost: (FIXTURES.embeddings.usage.prompt_tokens * 20) / 1e9,
  },
  image: {
    path: '/v1/images/generations',
    body: { prompt: 'A switch' },
    entry: { type: 'image', modalities: { input: ['text'], output: ['image'] }, pricing: { image: '0.04' } },
    good: answer(200, PICTURES),
    cost: 0.04,
  },
  speech: {
    path: '/v1/audio/speech',
    body: { input: 'Hello!', voice: 'alloy' },
    entry: {
      type: 'speech',
      modalities: { input: ['text'], output: ['audio'] },
      pricing: { character: '0.000015' },
    },
    good: headOf('audio/mpeg', SOUND.length) + SOUND,
    cost: 0.00009,
  },
} satisfies Record<string, Kind>;

interface OtherRow {
  name: string;
  kind: keyof typeof KINDS;
  script: RawScript;
  /** `cut`: the answer had started and cannot carry an error, so its connection is cut. */
  is: 'fault' | 'refusal' | 'cut';
  quick?: number;
  error: RegExp;
}

const OTHER_ROWS: OtherRow[] = [
  { name: '500', kind: 'embedding', script: status(500, error('500')), is: 'fault', error: /had an error/ },
  {
    name: 'truncated',
    kind: 'embedding',
    script: status(200, VECTORS.slice(0, -10)),
    is: 'fault',
    error: /not a JSON/,
  },
  {
    name: 'empty',
    kind: 'embedding',
    script: status(200, '{"data":[]}'),
    is: 'fault',
    error: /no data/,
  },
  { name: '429', kind: 'image', script: status(429, error('429')), is: 'fault', error: /Rate limit/ },
  {
    name: 'policy',
    kind: 'image',
    script: status(400, error('policy')),
    is: 'refusal',
    error: /safety system/,
  },
  {
    name: 'addresses',
    kind: 'image',
    script: status(200, '{"data":[{"url":"http://127.0.0.1/x.png"}]}'),
    is: 'fault',
    error: /not base64/,
  },
  {
    name: 'error-in-a-200',
    kind: 'image',
    script: status(200, JSON.stringify({ error: OVERLOADED })),
    is: 'fault',
    error: /Overloaded/,
  },
  { name: '503', kind: 'speech', script: status(503, error('503')), is: 'fault', error: /overloaded/ },
  {
    name: 'silence',
    kind: 'speech',
    script: ({ socket }) => socket.write(headOf('audio/mpeg', 0)),
    is: 'fault',
    error: /no sound in it/,
  },
  {
    name: 'words',
    kind: 'speech',
    script: status(200, JSON.stringify({ error: OVERLOADED })),
    is: 'fault',
    error: /reported an error: Overloaded/,
  },
  {
    name: 'cut',
    kind: 'speech',
    script: withCut(({ socket }) => socket.write(headOf('audio/mpeg', 2 * SOUND.length) + SOUND)),
    is: 'cut',
    error: /UND_ERR_SOCKET|UND_ERR/,
  },
  {
    name: 'stall',
    kind: 'speech',
    quick: STALL_MS,
    script: ({ socket }) => socket.write(headOf('audio/mpeg', 2 * SOUND.length) + SOUND),
    is: 'cut',
    error: /sent nothing for/,
  },
];

const OTHER_CELLS = OTHER_ROWS.flatMap((row) =>
  [true, false].map((alone) => {
    const model = `${row.kind}-${row.name}.${alone ? 'alone' : 'fallback'}`;
    return { row, alone, model, spare: `spare.${model}` };
  }),
);

let raw: RawUpstream;
let good: Upstream;
let tls: { url: string; close(): void };
let silence: { url: string; close(): void };
let stack: TestStack;

const scripts = new Map<string, RawScript>();

beforeAll(async () => {
  raw = await startRawUpstream((model) => scripts.get(model) ?? (() => {}));
  good = await startUpstream();
  tls = await startTlsWithoutCertificate();
  silence = await startSilence();
  const addresses = {
    refusing: `http://127.0.0.1:${await ownPort()}/v1`,
    'unknown host': UNKNOWN_HOST_URL,
    'no certificate': tls.url,
    'no TLS': raw.tlsUrl,
    silence: silence.url,
  };
  const limits = ({ quick }: { quick?: number }) =>
    quick ? { first_byte_timeout_ms: quick, attempt_timeout_ms: 20_000 } : {};
  const models = CELLS.flatMap(({ row, adapter, model, spare }): CatalogEntry[] => {
    if (row.script) scripts.set(model, row.script);
    const url = row.at ? addresses[row.at] : raw.url;
    return [
      chatModel(`acme/${model}`, url, model, { adapter, ...limits(row) }),
      chatModel(`acme/${spare}`, good.url, spare),
    ];
  });
  const otherModels = OTHER_CELLS.flatMap(({ row, model, spare }): CatalogEntry[] => {
    const { entry, good: answered } = KINDS[row.kind];
    scripts.set(model, row.script);
    scripts.set(spare, ({ socket }) => socket.write(answered));
    return [model, spare].map((name) => ({
      ...entry,
      id: `acme/${name}`,
      name,
      upstreams: [{ adapter: 'openai-compatible', base_url: raw.url, model: name, ...limits(row) }],
    }));
  });
  scripts.set('limited-once', ({ socket, earlier }: RawExchange) =>
    socket.write(earlier === 0 ? answer(429, error('429'), { 'retry-after': '1' }) : answer(200, GOOD)),
  );
  scripts.set('limited', status(429, error('429'), { 'retry-after': '30' }));
  scripts.set('limited-for-a-while', status(429, error('429'), { 'retry-after': '15' }));
  const catalog = await writeTestCatalog({
    url: good.url,
    models: [
      ...models,
      ...otherModels,
      ...['late-1', 'late-2', 'late-3'].map((name) =>
        chatModel(`acme/${name}`, raw.url, name, { first_byte_timeout_ms: LATE_FIRST_BYTE_MS }),
      ),
      ...['limited-once', 'limited', 'limited-for-a-while'].map((name) =>
        chatModel(`acme/${name}`, raw.url, name),
      ),
      ...SERVED.map(({ adapter, suffix }) => {
        const name = `breaks.${suffix}`;
        scripts.set(name, status(500, error('500')));
        return chatModel(`acme/${name}`, raw.url, name, { adapter });
      }),
    ],
  });
  stack = await startStack({
    services: ['edge', 'control', 'model-router', 'billing'],
    env: {
      OPENAI_API_KEY: 'sk-ours',
      ANTHROPIC_API_KEY: 'sk-ant-ours',
      SWITCHYARD_CATALOG: catalog,
      SWITCHYARD_CALL_TIMEOUT_SECONDS: String(CALL_TIMEOUT_S),
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await good?.close();
  await raw?.close();
  tls?.close();
  silence?.close();
});

const headers = () => ({ authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' });

function chat(models: string[], signal: AbortSignal | null = null): Promise<Response> {
  return ask('chat', models, false, signal);
}

function ask(
  dialect: Spoken,
  models: string[],
  stream: boolean,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const { path, hello } = SPOKEN[dialect];
  const body = JSON.stringify({ models, stream, ...hello });
  return fetch(stack.url + path, { method: 'POST', headers: headers(), body, signal });
}

interface Attempt {
  model: string;
  upstream: string;
  status: number | null;
  error: string | null;
  skipped?: true;
  latency_ms: number;
}
interface Log {
  dialect: string;
  status: string;
  http_status: number;
  error_code: string | null;
  cost: number;
  model: string | null;
  attempts: Attempt[];
}

/** The call's row in billing's ledger. */
async function logOf(response: Response, expectIt = expect): Promise<Log> {
  const url = `${stack.url}/v1/logs/${response.headers.get('x-request-id')}`;
  await expectIt.poll(async () => (await fetch(url, { headers: headers() })).status).toBe(200);
  return (await (await fetch(url, { headers: headers() })).json()) as Log;
}

/** Checks that an answer is complete, streamed or not; returns its cost. */
function readAnswer(dialect: Spoken, text: string, stream: boolean, model: string): number {
  const { models, cost } = SPOKEN[dialect].readAnswer(text, stream);
  expect(new Set(models)).toEqual(new Set([model]));
  return cost;
}

/** The cost of the recorded usage at the catalog's prices. */
const FULL_COST = (completion.usage.prompt_tokens * 150 + completion.usage.completion_tokens * 600) / 1e9;

describe.concurrent('an upstream that misbehaves', () => {
  test.for(CELLS)('$model', async ({ row, adapter, dialect, stream, alone, model, spare }, { expect }) => {
    const expected = stream ? row.stream : row.whole;
    const models = alone ? [`acme/${model}`] : [`acme/${model}`, `acme/${spare}`];
    const response = await ask(dialect, models, stream);
    const text = await response.text();
    const log = await logOf(response, expect);
    const [first] = log.attempts;
    expect(log.dialect).toBe(dialect);
    expect(first).toMatchObject({ model: `acme/${model}`, upstream: `${adapter}:${model}` });
    expect(first?.latency_ms).toBeGreaterThan(row.quick ? row.quick - 50 : 0);
    if (expected.is !== 'answer') {
      expect(first?.status).toBe(row.log.status);
      expect(first?.error).toMatch(row.log.error);
    }
    const spares = good.requests.filter((request) => request.model === spare).length;
    const fellBack = expected.is === 'fault' && !alone;
    expect(spares).toBe(fellBack ? 1 : 0);
    const asked = alone && expected.is === 'fault' ? (expected.attempts ?? 1) : fellBack ? 2 : 1;
    expect(log.attempts).toHaveLength(asked);
    if (!row.at) expect(raw.asked(model)).toBe(fellBack ? 1 : asked);

    if (fellBack) {
      expect(response.status).toBe(200);
      const cost = readAnswer(dialect, text, stream, `acme/${spare}`);
      expect(cost).toBeCloseTo(FULL_COST, 12);
      expect(text).not.toContain(`"acme/${model}"`);
      expect(log).toMatchObject({ status: 'ok', http_status: 200, cost, model: `acme/${spare}` });
      expect(log.attempts[1]).toMatchObject({ model: `acme/${spare}`, status: 200, error: null });
      return;
    }
    switch (expected.is) {
      case 'fault': {
        expect(response.status).toBe(expected.status);
        expect(response.headers.get('retry-after')).toBe(
          expected.retryAfter ?? (expected.status === 429 ? '1' : null),
        );
        const error = SPOKEN[dialect].readError(text);
        expect(error.code).toBe(expected.code);
        expect(error.details.attempts).toEqual(log.attempts);
        const { status: httpStatus, code } = expected;
        expect(log).toMatchObject({
          status: expected.log ?? 'error',
          http_status: httpStatus,
          error_code: code,
          cost: 0,
        });
        return;
      }
      case 'refusal':
        expect(response.status).toBe(400);
        expect(SPOKEN[dialect].readError(text).code).toBe('upstream_rejected');
        expect(log).toMatchObject({ status: 'refused', error_code: 'upstream_rejected', cost: 0 });
        return;
      case 'begun': {
        expect(response.status).toBe(200);
        const broken = SPOKEN[dialect].readBroken(text);
        expect(broken.code).toBe(expected.code);
        expect(broken.text).toMatch(/^Hello/);
        expect(log).toMatchObject({ status: 'error', http_status: 200, error_code: expected.code, cost: 0 });
        return;
      }
      case 'answer': {
        expect(response.status).toBe(200);
        const cost = readAnswer(dialect, text, stream, `acme/${model}`);
        expect(cost).toBe(expected.cost === 'free' ? 0 : FULL_COST);
        expect(log).toMatchObject({ status: 'ok', error_code: null, cost });
        expect(first).toMatchObject({ status: 200, error: null });
      }
    }
  });
});

describe.concurrent('an upstream of another type that misbehaves', () => {
  test.for(OTHER_CELLS)('$model', async ({ row, alone, model, spare }, { expect }) => {
    const { path, body, cost } = KINDS[row.kind];
    const response = await fetch(stack.url + path, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({
        ...body,
        models: alone ? [`acme/${model}`] : [`acme/${model}`, `acme/${spare}`],
      }),
    });
    const read = await response.arrayBuffer().then(
      (bytes) => bytes.byteLength,
      () => 'cut' as const,
    );
    const log = await logOf(response, expect);
    const fellBack = row.is === 'fault' && !alone;
    expect(log.attempts).toMatchObject([
      { model: `acme/${model}`, error: expect.stringMatching(row.error) },
      ...(fellBack ? [{ model: `acme/${spare}`, status: 200, error: null }] : []),
    ]);
    expect([raw.asked(model), raw.asked(spare)]).toEqual([1, fellBack ? 1 : 0]);
    if (fellBack) {
      expect(response.status).toBe(200);
      expect(read).toBeGreaterThan(0);
      expect(Number(response.headers.get('x-service-cost'))).toBeCloseTo(cost, 12);
      expect(log).toMatchObject({ status: 'ok', model: `acme/${spare}` });
      expect(log.cost).toBeCloseTo(cost, 12);
      return;
    }
    expect(log.cost).toBe(0);
    if (row.is === 'cut') expect([response.status, read, log.status]).toEqual([200, 'cut', 'error']);
    if (row.is === 'refusal') expect([response.status, log.status]).toEqual([400, 'refused']);
    if (row.is === 'fault')
      expect([row.name === '429' ? 429 : 502, 'error']).toEqual([response.status, log.status]);
  });
});

test('the whole call ends at its deadline, whatever time its attempts still have', async () => {
  const startedAt = performance.now();
  const response = await chat(['acme/late-1', 'acme/late-2', 'acme/late-3']);
  const tookMs = performance.now() - startedAt;
  expect(response.status).toBe(504);
  expect(((await response.json()) as { error: { code: string } }).error.code).toBe('upstream_timeout');
  expect(tookMs).toBeGreaterThan(CALL_TIMEOUT_S * 1_000 - 500);
  expect(tookMs).toBeLessThan(3 * LATE_FIRST_BYTE_MS);
  const log = await logOf(response);
  expect(log.attempts.map(({ model }) => model)).toEqual(['acme/late-1', 'acme/late-2']);
  expect(log).toMatchObject({ status: 'error', http_status: 504, cost: 0 });
});

test('an upstream with a retry-after of a second is not called during it: calls without a fallback wait', async () => {
  const startedAt = performance.now();
  const response = await chat(['acme/limited-once']);
  expect(response.status).toBe(200);
  expect(performance.now() - startedAt).toBeGreaterThan(990);
  const log = await logOf(response);
  expect(log.attempts.map(({ status: of }) => of)).toEqual([429, 200]);
  expect(log).toMatchObject({ status: 'ok', cost: FULL_COST });
});

test('an upstream that asked for time is skipped until then by calls that have a fallback', async () => {
  // Logs may take longer than the upstream's time.
  const calls = [await chat(['acme/limited', 'acme/chat-1']), await chat(['acme/limited', 'acme/chat-1'])];
  expect(calls.map((response) => response.status)).toEqual([200, 200]);
  expect(raw.asked('limited')).toBe(1);
  const logs = await Promise.all(calls.map((response) => logOf(response)));
  const other = { model: 'acme/chat-1', error: null };
  expect(logs.map(({ attempts }) => attempts)).toMatchObject([
    [{ status: 429 }, other],
    [{ status: null, skipped: true, error: expect.stringMatching(/rate limited/) }, other],
  ]);
});

test('a waiting call ends when its caller goes away: no upstream is called, nothing is charged', async () => {
  const gone = new AbortController();
  const response = chat(['acme/limited-for-a-while'], gone.signal);
  await expect.poll(() => raw.asked('limited-for-a-while')).toBe(1);
  gone.abort();
  await expect(response).rejects.toThrow();
  const logs = `${stack.url}/v1/logs?model=acme/limited-for-a-while`;
  const rows = async () =>
    ((await (await fetch(logs, { headers: headers() })).json()) as { data: Log[] }).data;
  await expect
    .poll(async () => (await rows()).map((row) => [row.status, row.cost]))
    .toEqual([['cancelled', 0]]);
  expect(raw.asked('limited-for-a-while')).toBe(1);
});

describe.concurrent('an upstream that failed five times in a row', () => {
  test.for(SERVED)('is skipped, and the log shows it: $suffix', async ({ dialect, suffix }, { expect }) => {
    const model = `breaks.${suffix}`;
    for (let call = 0; call < 5; call += 1) await (await ask(dialect, [`acme/${model}`], false)).text();
    // The circuit is open for a while, and Logs may take longer.
    const spared: Response[] = [];
    for (const stream of [true, false]) {
      const response = await ask(dialect, [`acme/${model}`, 'acme/chat-1'], stream);
      expect(response.status).toBe(200);
      readAnswer(dialect, await response.text(), stream, 'acme/chat-1');
      spared.push(response);
    }
    expect(raw.asked(model)).toBe(5);
    const alone = await ask(dialect, [`acme/${model}`], false);
    expect(alone.status).toBe(502);
    for (const response of spared)
      expect((await logOf(response, expect)).attempts).toMatchObject([
        {
          model: `acme/${model}`,
          status: null,
          skipped: true,
          error: expect.stringMatching(/^skipped: its circuit is open/),
        },
        { model: 'acme/chat-1', status: 200, error: null },
      ]);
    expect((await logOf(alone, expect)).attempts).toMatchObject([{ skipped: true }, { status: 500 }]);
  });
});
