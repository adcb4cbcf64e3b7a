// Deepgram's transcription and speech, replayed.
import { describe, expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { deepgram } from './index.ts';

const { read, replay } = replaysOf(deepgram, import.meta.dirname);

describe('transcription', () => {
  it('sends the audio as the body and all settings in the query, and reads punctuated words', async () => {
    const maker = await replay([read('transcription')]);
    const { json } = await maker.transcribe(
      Buffer.from('sound'),
      {
        provider_options: { diarize: true, keyterm: ['Apollo', 'spacewalk'] },
        timestamp_granularities: ['word'],
      },
      'nova-3',
    );
    expect(json()).toMatchObject({
      text: "Yeah. As as much as it's worth celebrating.",
      language: 'en',
      duration: 25.933313,
      segments: [
        { start: 0.08, end: 0.32, text: 'Yeah.' },
        { start: 0.32, end: 1.28, text: 'As as much' },
      ],
    });
    expect((json().words as object[])[0]).toEqual({ word: 'Yeah.', start: 0.08, end: 0.32 });
    const [request] = maker.requests;
    expect([request?.path, request?.headers['content-type']]).toEqual(['/v1/listen', 'audio/mpeg']);
    expect(request?.headers.authorization).toBe('Token a key of ours');
    expect(request?.body.toString()).toBe('sound');
    expect(Object.fromEntries(request?.query ?? [])).toMatchObject({
      model: 'nova-3',
      diarize: 'true',
      smart_format: 'true',
      detect_language: 'true',
    });
    expect(request?.query.getAll('keyterm')).toEqual(['Apollo', 'spacewalk']);
  });

  it('detects no language when the caller names one', async () => {
    const maker = await replay([read('transcription')]);
    await maker.transcribe(
      Buffer.from('sound'),
      { language: 'de', provider_options: { smart_format: false } },
      'nova-3',
    );
    const query = Object.fromEntries(maker.requests[0]?.query ?? []);
    expect(query).toEqual({ model: 'nova-3', language: 'de', smart_format: 'false' });
  });
});

describe('speech', () => {
  it('speaks with a voice of the family, the settings in the query', async () => {
    const maker = await replay([read('speech')]);
    const { contentType, body } = await maker.call(
      'speech',
      {
        input: 'Hello there',
        voice: 'apollo',
        response_format: 'mp3',
        provider_options: { bit_rate: 48000 },
      },
      { model: 'aura-2' },
    );
    expect([contentType, body.toString('base64')]).toEqual(['audio/mpeg', read('speech').base64]);
    const [request] = maker.requests;
    expect([request?.path, request?.json()]).toEqual(['/v1/speak', { text: 'Hello there' }]);
    expect(Object.fromEntries(request?.query ?? [])).toEqual({
      model: 'aura-2-apollo-en',
      encoding: 'mp3',
      bit_rate: '48000',
    });
  });

  it('uses a default voice when the caller names none', async () => {
    const maker = await replay([read('speech')]);
    await maker.call('speech', { input: 'Hello', response_format: 'wav' }, { model: 'aura-2' });
    expect(Object.fromEntries(maker.requests[0]?.query ?? [])).toEqual({
      model: 'aura-2-thalia-en',
      encoding: 'linear16',
      container: 'wav',
    });
  });

  it('refuses instructions before a character is spoken', async () => {
    const maker = await replay([read('speech')]);
    const { status, json } = await maker.call(
      'speech',
      { input: 'Hello', instructions: 'whisper' },
      { model: 'aura-2' },
    );
    expect([status, json().error]).toMatchObject([400, { param: 'instructions' }]);
    expect(maker.requests).toHaveLength(0);
  });
});

describe('errors', () => {
  it('reports unreadable audio with Deepgram’s message', async () => {
    const maker = await replay([read('bad-request')]);
    const { status, json } = await maker.transcribe(Buffer.from('no sound'), {}, 'nova-3');
    expect([status, json().error]).toMatchObject([
      400,
      { message: expect.stringContaining('corrupt or unsupported') },
    ]);
  });

  it('a refused key of ours is not an error of the request', async () => {
    const maker = await replay([read('bad-key')]);
    expect(await maker.call('speech', { input: 'Hello' }, { model: 'aura-2' })).toMatchObject({
      status: 401,
    });
    expect(await maker.transcribe(Buffer.from('sound'), {}, 'nova-3')).toMatchObject({ status: 401 });
  });
});
