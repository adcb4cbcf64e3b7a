// Transcriptions on the full stack: what the local models say and hear of each other, with the clients that people use,
// and what an upstream is sent and charged for.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AUDIO_BYTES_MAX } from '@switchyard/contracts';
import {
  startStack,
  startUpstream,
  type TestStack,
  testModels,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilBooked } from './__fixtures__/until-booked.ts';

const execute = promisify(execFile);

let upstream: Upstream;
let stack: TestStack;
let client: OpenAI;
let folder: string;
let spoken: Buffer;

const DIGITS = 'seven three nine one';
const URL_PATH = '/v1/audio/transcriptions';
/** Dollars a minute, as the catalogs have them. */
const LOCAL_PER_MINUTE = 0.0006;
const ACME_PER_MINUTE = 0.006;

/** https://platform.openai.com/docs/api-reference/audio/verbose-json-object */
const VERBOSE_ANSWER = {
  task: 'transcribe',
  language: 'english',
  duration: 0.5,
  text: 'The beach was a popular spot. <Really> & truly.',
  segments: [
    { id: 0, seek: 0, start: 0, end: 1.319, text: ' The beach was a popular spot.', avg_logprob: -0.28 },
    { id: 1, seek: 0, start: 61.3, end: 3_723.04, text: ' <Really> & truly.', avg_logprob: -0.3 },
  ],
  words: [{ word: 'The', start: 0, end: 0.2 }],
  usage: { type: 'duration', seconds: 1 },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transcriptions-'));
  upstream = await startUpstream();
  const transcription = (id: string, model: string, limits: Record<string, unknown> = {}) => ({
    ...(testModels(upstream.url).find((one) => one.id === 'acme/transcribe-1') as ReturnType<
      typeof testModels
    >[number]),
    id,
    limits,
    upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model }],
  });
  const models = [
    transcription('acme/broken', 'whisper-broken'),
    transcription('acme/mute', 'whisper-mute'),
    transcription('acme/plain', 'plain-1', { response_formats: ['json', 'text'] }),
    transcription('acme/short', 'whisper-1', { seconds_max: 1 }),
    transcription('acme/small', 'whisper-1', { bytes_max: 1_000 }),
    transcription('acme/french', 'whisper-1', { languages: ['fr'] }),
    transcription('acme/mp3', 'whisper-1', { formats: ['mp3'] }),
  ];
  const json =
    (status: number, body: unknown) => (_: unknown, response: import('node:http').ServerResponse) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  upstream.on('whisper-1', json(200, VERBOSE_ANSWER));
  upstream.on('plain-1', json(200, { text: 'Plain words.' }));
  upstream.on('whisper-broken', json(500, { error: { message: 'broken' } }));
  upstream.on('whisper-mute', json(200, { task: 'transcribe' }));
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models }) },
  });
  client = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: stack.key, maxRetries: 0 });
  const speech = await client.audio.speech.create({
    model: 'local/speech',
    voice: 'klara',
    input: DIGITS,
    response_format: 'wav',
  });
  spoken = Buffer.from(await speech.arrayBuffer());
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown> & {
    usage: { seconds: number; cost: number };
    error: Record<string, unknown>;
  };
}

async function post(body: string | FormData, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(stack.url + URL_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, ...headers },
    body,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
}

/** As JSON, with the sound in base64. */
const postSound = (fields: Record<string, unknown>, sound: Buffer = spoken) =>
  post(JSON.stringify({ media_type: 'audio/wav', audio: sound.toString('base64'), ...fields }), {
    'content-type': 'application/json',
  });

/** Dollars for so many seconds, to the nano-dollar. */
const costOf = (seconds: number, perMinute: number) => Math.round((seconds * perMinute * 1e9) / 60) / 1e9;

/** The sound in another format. */
async function encoded(ending: string): Promise<string> {
  const from = join(folder, 'spoken.wav');
  const to = join(folder, `spoken.${ending}`);
  await writeFile(from, spoken);
  await execute('ffmpeg', ['-v', 'error', '-y', '-i', from, to]);
  return to;
}

async function logOf(headers: Headers): Promise<Record<string, unknown>> {
  const id = headers.get('x-request-id') ?? '';
  const ask = async () =>
    fetch(`${stack.url}/v1/logs/${id}`, { headers: { authorization: `Bearer ${stack.key}` } }).then(
      async (response) => (response.ok ? ((await response.json()) as Record<string, unknown>) : null),
    );
  await expect.poll(ask).not.toBeNull();
  return (await ask()) as Record<string, unknown>;
}

describe('what local/speech says, local/transcribe hears', () => {
  test('through the openai client, with its cost', async () => {
    const { data, response } = await client.audio.transcriptions
      .create({ model: 'local/transcribe', file: await toFile(spoken, 'spoken.wav') })
      .withResponse();
    const { usage, ...answer } = data as unknown as Answer['json'] & { duration: number };
    expect(answer).toMatchObject({ text: DIGITS, language: 'en', model: 'local/transcribe' });
    expect(usage.seconds).toBe(answer.duration);
    expect(usage.cost).toBe(costOf(usage.seconds, LOCAL_PER_MINUTE));
    expect(Number(response.headers.get('x-service-cost'))).toBe(usage.cost);
  });

  test.each(['mp3', 'flac', 'ogg', 'm4a', 'webm'])('as %s, sent by curl as a form', async (ending) => {
    const file = await encoded(ending);
    const { stdout } = await execute(
      'curl',
      [
        '-sS',
        '-H',
        `Authorization: Bearer ${stack.key}`,
        '-F',
        `file=@${file}`,
        '-F',
        'model=local/transcribe',
      ].concat(stack.url + URL_PATH),
    );
    const { text, usage } = JSON.parse(stdout) as Answer['json'];
    expect(text).toBe(DIGITS);
    expect(usage.cost).toBe(costOf(usage.seconds, LOCAL_PER_MINUTE));
  });

  test('as base64 in JSON, in words with their times', async () => {
    const { json } = await postSound({
      model: 'local/transcribe',
      language: 'en-US',
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    });
    expect(json).toMatchObject({ task: 'transcribe', text: DIGITS });
    expect((json.words as { word: string }[]).map(({ word }) => word).join(' ')).toBe(DIGITS);
    expect(json).not.toHaveProperty('segments');
  });

  test('in Logs with the same cost, and its seconds in Usage', async () => {
    const { headers, json } = await postSound({ model: 'local/transcribe' });
    expect(await logOf(headers)).toMatchObject({
      type: 'transcription',
      status: 'ok',
      cost: json.usage.cost,
      quantities: { seconds: json.usage.seconds },
    });
    await untilBooked(stack.url, stack.key);
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const report = await fetch(`${stack.url}/v1/usage?from=${from}&group_by=model`, {
      headers: { authorization: `Bearer ${stack.key}` },
    }).then((response) => response.json() as Promise<{ data: { group: string; quantities: object }[] }>);
    const row = report.data.find(({ group }) => group === 'local/transcribe');
    expect(row?.quantities).toMatchObject({ seconds: expect.any(Number) });
  });
});

describe('an upstream', () => {
  test('is sent the file, every field and the options unchanged', async () => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(spoken)], { type: 'audio/mpeg' }), 'a "quoted" name.mp3');
    form.append('prompt', 'Grüße,\r\nfrom here');
    form.append('temperature', '0.3');
    form.append('timestamp_granularities[]', 'word');
    form.append('timestamp_granularities[]', 'segment');
    form.append('provider_options', '{"acme":{"diarize":[1,2]}}');
    form.append('chunking_strategy', 'auto');
    form.append('model', 'acme/transcribe-1');
    const { status, json } = await post(form);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      text: VERBOSE_ANSWER.text,
      model: 'acme/transcribe-1',
      language: 'english',
    });
    const { path, headers, body } = await upstream.request('whisper-1');
    expect(path).toBe(URL_PATH);
    expect(Number(headers['content-length'])).toBe(body.length);
    const sent = await new Response(new Uint8Array(body), {
      headers: { 'content-type': headers['content-type'] ?? '' },
    }).formData();
    const file = sent.get('file') as File;
    // It said mp3 and is wav: makers go by the name.
    expect(file).toMatchObject({ name: 'a "quoted" name.wav', type: 'audio/wav', size: spoken.length });
    expect(spoken.equals(Buffer.from(await file.arrayBuffer()))).toBe(true);
    expect([...sent].filter(([name]) => name !== 'file')).toEqual([
      ['model', 'whisper-1'],
      ['prompt', 'Grüße,\r\nfrom here'],
      ['temperature', '0.3'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['provider_options', '{"acme":{"diarize":[1,2]}}'],
      ['chunking_strategy', 'auto'],
      ['response_format', 'verbose_json'],
    ]);
  });

  test('may report any length: the file’s own is shown and charged', async () => {
    const { json, headers } = await postSound({ model: 'acme/transcribe-1' });
    const bytesPerSecond = 2 * 24_000;
    expect(json.usage.seconds).toBeCloseTo(spoken.length / bytesPerSecond, 2);
    expect(json).toMatchObject({ duration: json.usage.seconds });
    expect(json.usage).toEqual({
      type: 'duration',
      seconds: json.usage.seconds,
      cost: costOf(json.usage.seconds, ACME_PER_MINUTE),
    });
    expect(headers.get('x-service-cost')).toBe(String(json.usage.cost));
  });

  test('answers once, and it is rendered as text, SubRip or WebVTT, its cost in the header', async () => {
    const answers = await Promise.all(
      ['text', 'srt', 'vtt', 'verbose_json'].map((response_format) =>
        postSound({ model: 'acme/transcribe-1', response_format }),
      ),
    );
    const [text, srt, vtt, verbose] = answers as [Answer, Answer, Answer, Answer];
    expect(text.text).toBe(`${VERBOSE_ANSWER.text}\n`);
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(srt.text).toBe(
      '1\n00:00:00,000 --> 00:00:01,319\nThe beach was a popular spot.\n\n' +
        '2\n00:01:01,300 --> 01:02:03,040\n<Really> & truly.\n\n',
    );
    expect(vtt.text).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.319\nThe beach was a popular spot.\n\n' +
        '00:01:01.300 --> 01:02:03.040\n&lt;Really&gt; &amp; truly.\n\n',
    );
    expect(verbose.json).toMatchObject({ task: 'transcribe', segments: VERBOSE_ANSWER.segments });
    expect(verbose.json).not.toHaveProperty('words');
    for (const { headers } of answers)
      expect(headers.get('x-service-cost')).toBe(String(verbose.json.usage.cost));
  });

  test('that reports no times is asked for none, and refused if they are wanted', async () => {
    const { json } = await postSound({ model: 'acme/plain', language: 'de' });
    expect(json).toMatchObject({ text: 'Plain words.', language: 'de' });
    expect((await upstream.request('plain-1')).body.toString('latin1')).toMatch(
      /name="response_format"\r\n\r\njson\r\n/,
    );
    const refused = await postSound({ model: 'acme/plain', response_format: 'srt' });
    expect(refused).toMatchObject({ status: 400, json: { error: { param: 'response_format' } } });
  });

  test('that fails, or answers with nothing, is followed by the next, which alone is charged', async () => {
    const { status, json, headers } = await postSound({
      model: 'acme/broken',
      models: ['acme/mute', 'local/transcribe'],
    });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { model: 'local/transcribe', text: DIGITS },
    });
    expect(json.usage.cost).toBe(costOf(json.usage.seconds, LOCAL_PER_MINUTE));
    expect(await logOf(headers)).toMatchObject({
      model: 'local/transcribe',
      attempts: [
        { model: 'acme/broken', status: 500 },
        { model: 'acme/mute' },
        { model: 'local/transcribe', status: 200 },
      ],
    });
  });
});

test('a form repeated under its Idempotency-Key gets the stored answer, also with another boundary', async () => {
  const send = () => {
    const form = new FormData();
    form.append('model', 'acme/transcribe-1');
    form.append('file', new Blob([new Uint8Array(spoken)], { type: 'audio/wav' }), 'a.wav');
    return post(form, { 'idempotency-key': 'transcribe-once' });
  };
  const first = await send();
  const asked = upstream.requests.length;
  const second = await send();
  expect(first.status).toBe(200);
  expect(second.text).toBe(first.text);
  expect(second.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'));
  expect(upstream.requests).toHaveLength(asked);
});

describe('refused, and free, is', () => {
  test.each([
    ['a file longer than the model takes', { model: 'acme/short' }, 'file'],
    ['a file larger than the model takes', { model: 'acme/small' }, 'file'],
    ['a kind of file that the model does not take', { model: 'acme/mp3' }, 'file'],
    ['a language that the model does not know', { model: 'acme/french', language: 'en' }, 'language'],
  ])('%s', async (_, fields, param) => {
    const { status, json } = await postSound(fields);
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_request', param } },
    });
  });

  test('a file that is no audio, logged at no cost', async () => {
    const { status, json, headers } = await postSound(
      { model: 'acme/transcribe-1' },
      Buffer.from('no sound at all'),
    );
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { error: { code: 'audio_unreadable', param: 'file' } },
    });
    expect(await logOf(headers)).toMatchObject({
      status: 'refused',
      error_code: 'audio_unreadable',
      cost: 0,
    });
  });

  test('a model of another type, naming the right endpoint', async () => {
    const { status, json } = await postSound({ model: 'local/chat' });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({
      code: 'wrong_endpoint',
      details: { endpoint: 'POST /v1/chat/completions' },
    });
  });
});

describe('25 MiB of audio', () => {
  /** 16 bits, 8 kHz. */
  function wav(bytes: number): Buffer {
    const head = Buffer.from(spoken.subarray(0, 44));
    const sound = Buffer.alloc(bytes, 0x11);
    head.copy(sound);
    return sound;
  }
  const asForm = (sound: Buffer) => {
    const form = new FormData();
    form.append('model', 'acme/transcribe-1');
    form.append('file', new Blob([new Uint8Array(sound)], { type: 'audio/wav' }), 'a.wav');
    return post(form);
  };
  const asJson = (sound: Buffer) => postSound({ model: 'acme/transcribe-1' }, sound);

  test.each([
    ['in a form', asForm],
    ['in JSON', asJson],
  ])('pass %s, and one byte more is 413 naming the limit', async (_, send) => {
    expect((await send(wav(AUDIO_BYTES_MAX))).status).toBe(200);
    const { status, json } = await send(wav(AUDIO_BYTES_MAX + 1));
    expect(status).toBe(413);
    expect(json.error).toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining(String(AUDIO_BYTES_MAX)),
    });
  });
});
