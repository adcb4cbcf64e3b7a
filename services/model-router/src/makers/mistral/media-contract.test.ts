// Replays Mistral's embeddings, speech and transcription.
import { expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { mistral } from './index.ts';

const { read, replay } = replaysOf(mistral, import.meta.dirname);

it('gives the vectors and the tokens, and puts provider_options on the wire', async () => {
  const maker = await replay([read('embeddings')]);
  const body = { input: ['one', 'two'], dimensions: 3, provider_options: { output_dtype: 'int8' } };
  const { json } = await maker.call('embedding', body, { model: 'codestral-embed' });
  expect(json()).toMatchObject({
    data: [{ index: 0 }, { index: 1, embedding: [0.5, -0.5, 0.25] }],
    usage: { prompt_tokens: 15, total_tokens: 15 },
  });
  expect(maker.requests[0]?.path).toBe('/embeddings');
  expect(maker.requests[0]?.json()).toEqual({
    model: 'codestral-embed',
    input: ['one', 'two'],
    output_dimension: 3,
    output_dtype: 'int8',
    encoding_format: 'float',
  });
});

it('splits a request that exceeds the 32 texts of one call', async () => {
  const answer = read('embeddings').json as { data: object[] };
  const maker = await replay((request) => {
    const data = (request.json().input as string[]).map((_, index) => ({ ...answer.data[0], index }));
    return { source: 'made for the test', json: { ...answer, data } };
  });
  await maker.call('embedding', { input: Array.from({ length: 70 }, () => 'x') });
  expect(maker.requests.map((request) => (request.json().input as string[]).length).sort()).toEqual([
    32, 32, 6,
  ]);
});

it('reports an invalid request with Mistral’s message', async () => {
  const maker = await replay([read('invalid')]);
  const { status, json } = await maker.call('embedding', { input: 'x' });
  expect([status, json().error]).toMatchObject([
    400,
    { message: expect.stringContaining('Too many inputs') },
  ]);
});

it('decodes the maker’s base64 to audio, of the format that was asked for', async () => {
  const maker = await replay([read('speech')]);
  const body = { input: 'Hello', voice: 'paul', provider_options: { expressiveness: 0.5, ref_audio: null } };
  const { contentType, body: sound } = await maker.call('speech', body, { model: 'voxtral-mini-tts-3-0' });
  const { audio_data } = read('speech').json as { audio_data: string };
  expect([contentType, sound.toString('base64')]).toEqual(['audio/mpeg', audio_data]);
  expect(maker.requests[0]?.json()).toEqual({
    model: 'voxtral-mini-tts-3-0',
    input: 'Hello',
    voice_id: 'paul',
    response_format: 'mp3',
    stream: false,
    expressiveness: 0.5,
    ref_audio: null,
  });
});

it.each([
  ['speed', { speed: 1.5 }],
  ['instructions', { instructions: 'whisper' }],
  ['response_format', { response_format: 'pcm' }],
])('refuses %s before a character is spoken', async (param, field) => {
  const maker = await replay([read('speech')]);
  const { status, json } = await maker.call('speech', { input: 'Hello', ...field });
  expect([status, json().error]).toMatchObject([400, { param }]);
  expect(maker.requests).toHaveLength(0);
});

it('transcribes: the text with its language, length and segments', async () => {
  const maker = await replay([read('transcription')]);
  const said = { language: 'en', provider_options: { diarize: true, context_bias: ['Chicago', 'farewell'] } };
  const { json } = await maker.transcribe(Buffer.from('sound'), said, 'voxtral-mini-transcribe-3-0');
  expect(json()).toMatchObject({
    language: 'en',
    duration: 7,
    segments: [
      { start: 0.8, end: 3.2, text: ' This week, I traveled to Chicago' },
      { start: 3.2, end: 6.6 },
    ],
  });
  const form = (await maker.requests[0]?.form()) as FormData;
  expect(maker.requests[0]?.path).toBe('/audio/transcriptions');
  expect(form.get('model')).toBe('voxtral-mini-transcribe-3-0');
  expect(form.get('language')).toBe('en');
  expect(form.get('diarize')).toBe('true');
  expect(form.getAll('context_bias')).toEqual(['Chicago', 'farewell']);
  expect(form.getAll('timestamp_granularities')).toEqual(['segment']);
});

it('refuses word times, which Mistral sends instead of segments', async () => {
  const maker = await replay([read('transcription')]);
  const { status, json } = await maker.transcribe(Buffer.from('sound'), {
    timestamp_granularities: ['word'],
  });
  expect([status, json().error]).toMatchObject([400, { param: 'timestamp_granularities' }]);
});

it('a refused key of ours is not an error of the request', async () => {
  const maker = await replay([read('unauthorized')]);
  expect(await maker.call('speech', { input: 'Hello' })).toMatchObject({ status: 401 });
  expect(await maker.transcribe(Buffer.from('sound'), {})).toMatchObject({ status: 401 });
});
