import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import { AUDIO_BYTES_MAX, type ModelCallHead, modelCallSubject } from '@switchyard/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IDLE_TIMERS, startTestEdge, type TestEdge } from '../../__fixtures__/test-edge.ts';
import { BODY_PACE_MS } from '../../http/limits.ts';

/** Covers bodies of 30 MiB through two processes. */

let edge: TestEdge;
let key: string;

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('transcription'), answer);
});
afterAll(() => edge?.stop());

/** Answers with what arrived over the bus, and publishes no usage. */
async function answer(call: IncomingCall): Promise<void> {
  const { models, params, body_bytes } = call.head as ModelCallHead;
  const audio = await call.readBody();
  const seen = { models, params, body_bytes, bytes: audio.length, sha256: hash('sha256', audio) };
  call.setHead({ status: 200, content_type: 'application/json' });
  call.end({ cost: '0' }, Buffer.from(JSON.stringify(seen)));
}

const SOUND = Buffer.from('RIFF....WAVE and so on');
const URL_PATH = '/v1/audio/transcriptions';

async function post(body: string | FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${edge.url}${URL_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as unknown };
}

const postJson = (body: unknown) => post(JSON.stringify(body), { 'content-type': 'application/json' });

type Part = [name: string, value: string | { bytes: Uint8Array<ArrayBuffer>; name: string; type?: string }];

function form(...parts: Part[]): FormData {
  const data = new FormData();
  for (const [name, value] of parts)
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, new Blob([value.bytes], { type: value.type ?? '' }), value.name);
  return data;
}

const wav: Part[1] = { bytes: new Uint8Array(SOUND), name: 'a.wav', type: 'audio/wav' };

describe('the multipart form', () => {
  test('accepts the file first, last or in the middle', async () => {
    const model: Part = ['model', 'acme/a'];
    const language: Part = ['language', 'en'];
    const file: Part = ['file', wav];
    for (const parts of [
      [file, model, language],
      [model, language, file],
      [model, file, language],
    ])
      expect(await post(form(...parts))).toEqual({
        status: 200,
        body: {
          models: ['acme/a'],
          params: { language: 'en', media_type: 'audio/wav', filename: 'a.wav' },
          body_bytes: SOUND.length,
          bytes: SOUND.length,
          sha256: hash('sha256', SOUND),
        },
      });
  });

  test('reads each field by its type: lists, numbers, objects, further ones as text', async () => {
    const { body } = await post(
      form(
        ['file', { ...(wav as object), type: 'application/octet-stream' } as Part[1]],
        ['model', 'acme/a'],
        ['models', 'acme/b'],
        ['models', 'acme/c'],
        ['timestamp_granularities[]', 'word'],
        ['timestamp_granularities[]', 'segment'],
        ['temperature', '0.2'],
        ['response_format', 'verbose_json'],
        ['provider_options', '{"acme":{"diarize":true}}'],
        ['chunking_strategy', 'auto'],
      ),
    );
    expect(body).toMatchObject({
      models: ['acme/a', 'acme/b', 'acme/c'],
      params: {
        timestamp_granularities: ['word', 'segment'],
        temperature: 0.2,
        response_format: 'verbose_json',
        provider_options: { acme: { diarize: true } },
        chunking_strategy: 'auto',
        media_type: 'audio/wav',
        filename: 'a.wav',
      },
    });
    expect((await post(form(['models', '["acme/b"]'], ['file', wav]))).body).toMatchObject({
      models: ['acme/b'],
    });
  });

  test('leaves a missing type to be found from the file itself', async () => {
    const file: Part[1] = { bytes: new Uint8Array(SOUND), name: 'blob' };
    const { body } = await post(form(['model', 'acme/a'], ['file', file]));
    expect(body).toMatchObject({ params: { media_type: 'application/octet-stream', filename: 'blob' } });
  });

  test.each<[string, FormData, string, string | null]>([
    ['no file', form(['model', 'a/b']), 'invalid_request', 'file'],
    ['a file under another field name', form(['model', 'a/b'], ['sound', wav]), 'invalid_request', 'sound'],
    [
      'an empty file',
      form(['model', 'a/b'], ['file', { bytes: new Uint8Array(), name: 'a.wav' }]),
      'invalid_request',
      'file',
    ],
    ['two files', form(['model', 'a/b'], ['file', wav], ['file', wav]), 'invalid_request', 'file'],
    ['no model', form(['file', wav]), 'invalid_request', 'model'],
    [
      'two models in `model`',
      form(['file', wav], ['model', 'a/b'], ['model', 'a/c']),
      'invalid_request',
      'model',
    ],
    [
      'a temperature that is not a number',
      form(['file', wav], ['model', 'a/b'], ['temperature', 'hot']),
      'invalid_request',
      'temperature',
    ],
    [
      'an unknown format',
      form(['file', wav], ['model', 'a/b'], ['response_format', 'xml']),
      'invalid_request',
      'response_format',
    ],
    ['streaming', form(['file', wav], ['model', 'a/b'], ['stream', 'true']), 'invalid_request', 'stream'],
    [
      'options that are not JSON',
      form(['file', wav], ['model', 'a/b'], ['provider_options', '{']),
      'invalid_request',
      'provider_options',
    ],
    [
      'a picture',
      form(['model', 'a/b'], ['file', { bytes: new Uint8Array(SOUND), name: 'a.png', type: 'image/png' }]),
      'invalid_request',
      'file',
    ],
  ])('refuses %s', async (_, data, code, param) => {
    expect(await post(data)).toMatchObject({ status: 400, body: { error: { code, param } } });
  });

  test('with fields that the bus cannot carry as JSON is refused, and the edge serves the next one', async () => {
    const large = form(['model', 'acme/a'], ['file', wav], ['x', '\x01'.repeat(200_000)]);
    expect(await post(large)).toMatchObject({ status: 413, body: { error: { code: 'body_too_large' } } });
    expect(await post(form(['model', 'acme/a'], ['file', wav]))).toMatchObject({ status: 200 });
  });

  test.each([
    ['without a boundary', 'multipart/form-data', 'x'],
    [
      'that is incomplete',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx',
    ],
    ['that is not a form', 'multipart/form-data; boundary=b', 'hello'],
  ])('refuses a body %s', async (_, type, body) => {
    expect(await post(body, { 'content-type': type })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_multipart' } },
    });
  });

  test('accepts exactly 25 MiB, and answers 413 to one byte more, with and without a length', async () => {
    const exact = form(
      ['file', { bytes: new Uint8Array(AUDIO_BYTES_MAX).fill(7), name: 'a.mp3' }],
      ['model', 'a/b'],
    );
    expect(await post(exact)).toMatchObject({
      status: 200,
      body: { bytes: AUDIO_BYTES_MAX, body_bytes: AUDIO_BYTES_MAX },
    });
    const over = () =>
      form(['model', 'a/b'], ['file', { bytes: new Uint8Array(AUDIO_BYTES_MAX + 1), name: 'a.mp3' }]);
    const refusal = {
      status: 413,
      body: { error: { code: 'body_too_large', message: expect.stringContaining(String(AUDIO_BYTES_MAX)) } },
    };
    expect(await post(over())).toMatchObject(refusal);
    const chunked = new Response(over());
    const response = await fetch(`${edge.url}${URL_PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': chunked.headers.get('content-type') ?? '' },
      body: chunked.body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });
});

describe('the JSON form', () => {
  const audio = SOUND.toString('base64');

  test('decodes the audio at any position, and passes the rest on', async () => {
    for (const body of [
      { audio, media_type: 'audio/ogg; codecs=opus', model: 'acme/a', language: 'de' },
      { language: 'de', models: ['acme/a'], media_type: 'audio/ogg; codecs=opus', audio },
    ])
      expect(await postJson(body)).toMatchObject({
        status: 200,
        body: {
          models: ['acme/a'],
          params: { language: 'de', media_type: 'audio/ogg; codecs=opus', filename: 'audio.ogg' },
          sha256: hash('sha256', SOUND),
        },
      });
  });

  test('with numbers that grow to more than the bus carries is refused', async () => {
    const body = `{"model":"acme/a","media_type":"audio/wav","audio":"${audio}","x":[${'1e20,'.repeat(52_000)}0]}`;
    expect(await post(body, { 'content-type': 'application/json' })).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large' } },
    });
  });

  test.each<[string, unknown, string, string | null]>([
    ['no audio', { model: 'a/b', media_type: 'audio/wav' }, 'invalid_request', 'audio'],
    ['audio that is empty', { model: 'a/b', media_type: 'audio/wav', audio: '' }, 'invalid_request', 'audio'],
    [
      'audio that is no base64',
      { model: 'a/b', media_type: 'audio/wav', audio: '!!!' },
      'invalid_request',
      'audio',
    ],
    [
      'audio that is a list',
      { model: 'a/b', media_type: 'audio/wav', audio: [1] },
      'invalid_request',
      'audio',
    ],
    ['no media type', { model: 'a/b', audio }, 'invalid_request', 'media_type'],
    [
      'an unknown media type',
      { model: 'a/b', audio, media_type: 'image/png' },
      'invalid_request',
      'media_type',
    ],
    ['no model', { audio, media_type: 'audio/wav' }, 'invalid_request', 'model'],
    ['a model that is a number', { audio, media_type: 'audio/wav', model: 3 }, 'invalid_request', 'model'],
  ])('refuses %s', async (_, body, code, param) => {
    expect(await postJson(body)).toMatchObject({ status: 400, body: { error: { code, param } } });
  });

  test('refuses invalid JSON, and a content type of neither form', async () => {
    expect(await post('{"audio":', { 'content-type': 'application/json' })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_json' } },
    });
    expect(await post('x', { 'content-type': 'audio/wav' })).toMatchObject({
      status: 415,
      body: { error: { code: 'unsupported_media_type' } },
    });
  });

  test('accepts exactly 25 MiB, and answers 413 with the limit to one byte more', async () => {
    const of = (bytes: number) => ({
      audio: Buffer.alloc(bytes, 7).toString('base64'),
      media_type: 'audio/mpeg',
      model: 'a/b',
    });
    expect(await postJson(of(AUDIO_BYTES_MAX))).toMatchObject({
      status: 200,
      body: { bytes: AUDIO_BYTES_MAX },
    });
    expect(await postJson(of(AUDIO_BYTES_MAX + 1))).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large', message: expect.stringContaining(String(AUDIO_BYTES_MAX)) } },
    });
  });
});

/** Sends the head of a request with a body of this many bytes, which does not follow yet. */
function begin(bytes: number): Socket {
  const socket = connect(edge.port, '127.0.0.1').on('error', () => {});
  socket.write(
    `POST ${URL_PATH} HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  return socket;
}

describe('a large body', () => {
  const LARGE = 30 * 1024 * 1024;

  test('that is refused is read and discarded, and its connection serves the next request', async () => {
    const body = JSON.stringify({
      pad: 'x'.repeat(LARGE),
      audio: '!',
      media_type: 'audio/wav',
      model: 'a/b',
    });
    const socket = begin(body.length);
    let answers = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answers += text;
    });
    socket.write(body);
    await expect.poll(() => answers).toMatch(/^HTTP\/1\.1 413 [\s\S]*besides the audio/);
    socket.write('GET /livez HTTP/1.1\r\nHost: edge\r\n\r\n');
    await expect.poll(() => answers).toMatch(/HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('of a client that disconnects frees its place', async () => {
    const socket = begin(LARGE);
    socket.write('{"audio":"');
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS + 1);
    socket.destroy();
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS);
  });

  test('that arrives too slowly loses its place to waiting bodies, and gets an error', async () => {
    const slow = [begin(LARGE)];
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS + 1); // the first body has its place
    for (let more = 1; more <= 2; more += 1) slow.push(begin(LARGE));
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS + 3); // two fill the org's share, one waits
    const next = postJson({
      audio: Buffer.alloc(2_000_000).toString('base64'),
      media_type: 'audio/mpeg',
      model: 'a/b',
    });
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS + 4);
    const refusal = once(slow[0] as Socket, 'data');
    edge.clock.advance(BODY_PACE_MS);
    expect(String((await refusal)[0])).toMatch(/^HTTP\/1\.1 408 [\s\S]*body_timeout/);
    expect(await next).toMatchObject({ status: 200, body: { bytes: 2_000_000 } });
    for (const socket of slow) socket.destroy();
    await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS);
  });
});
