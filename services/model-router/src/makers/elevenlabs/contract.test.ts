// ElevenLabs' speech and transcription, replayed.
import { describe, expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { elevenlabs } from './index.ts';

const { read, replay } = replaysOf(elevenlabs, import.meta.dirname);

describe('speech', () => {
  it('speaks with the requested voice, speed and format', async () => {
    const maker = await replay([read('speech')]);
    const { contentType, body } = await maker.call(
      'speech',
      {
        input: 'Hello',
        voice: 'JBFqnCBsd6RMkjVDRZzb',
        response_format: 'mp3',
        speed: 1.1,
        provider_options: { seed: 5, voice_settings: { stability: 0.5 } },
      },
      { model: 'eleven_v3' },
    );
    expect([contentType, body.toString('base64')]).toEqual(['audio/mpeg', read('speech').base64]);
    const [request] = maker.requests;
    expect(request?.path).toBe('/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb');
    expect(request?.query.get('output_format')).toBe('mp3_44100_128');
    expect(request?.headers['xi-api-key']).toBe('a key of ours');
    expect(request?.json()).toEqual({
      text: 'Hello',
      model_id: 'eleven_v3',
      voice_settings: { stability: 0.5 },
      seed: 5,
    });
  });

  it.each([
    ['opus', 'opus_48000_128'],
    ['wav', 'wav_24000'],
    ['pcm', 'pcm_24000'],
  ])('asks for %s by its own name for it', async (format, own) => {
    const maker = await replay([
      {
        source: 'bytes',
        headers: { 'content-type': 'application/octet-stream' },
        base64: 'AAECAwQFBgcICQoLDA0=',
      },
    ]);
    const { contentType } = await maker.call('speech', { input: 'Hello', response_format: format });
    expect(maker.requests[0]?.query.get('output_format')).toBe(own);
    expect(contentType).toBe({ opus: 'audio/ogg', wav: 'audio/wav', pcm: 'audio/pcm' }[format]);
  });

  it('streams the audio, and hangs up when its caller does', async () => {
    const rest = Promise.withResolvers<void>();
    const sound = async function* () {
      yield Buffer.from(read('speech').base64 ?? '', 'base64');
      await rest.promise;
    };
    const speaking = {
      source: 'made for the test',
      headers: { 'content-type': 'audio/mpeg' },
      pieces: sound(),
    };
    const maker = await replay([speaking]);
    const exchange = maker.start('speech', { input: 'Hello' });
    await expect.poll(() => exchange.heard).toEqual(['accepted', 'head', 'data']);
    exchange.abort();
    await maker.requests[0]?.gone;
    rest.resolve();
    expect(exchange.heard).toEqual(['accepted', 'head', 'data']);
  });

  it('refuses instructions before a character is spoken', async () => {
    const maker = await replay([read('speech')]);
    const { status, json } = await maker.call('speech', { input: 'Hello', instructions: 'whisper' });
    expect([status, json().error]).toMatchObject([400, { param: 'instructions' }]);
    expect(maker.requests).toHaveLength(0);
  });
});

describe('transcription', () => {
  it('gives the text, its language, and its words as segments of whole sentences', async () => {
    const maker = await replay([read('transcription')]);
    const { json } = await maker.transcribe(
      Buffer.from('sound'),
      {
        language: 'en',
        timestamp_granularities: ['word'],
        provider_options: { diarize: false, keyterms: ['whispery', 'soft'] },
      },
      'scribe_v2',
    );
    expect(json()).toEqual({
      text: 'With a soft and whispery American accent. Hello world!',
      language: 'en',
      duration: 2.2,
      segments: [
        { start: 0.119, end: 0.9, text: 'With accent.' },
        { start: 1.5, end: 2.2, text: 'Hello world!' },
      ],
      words: [
        { word: 'With', start: 0.119, end: 0.259 },
        { word: 'accent.', start: 0.299, end: 0.9 },
        { word: 'Hello', start: 1.5, end: 1.8 },
        { word: 'world!', start: 1.85, end: 2.2 },
      ],
    });
    expect(maker.requests[0]?.path).toBe('/v1/speech-to-text');
    const form = (await maker.requests[0]?.form()) as FormData;
    expect(form.get('model_id')).toBe('scribe_v2');
    expect(form.get('language_code')).toBe('en');
    expect(form.get('diarize')).toBe('false');
    expect(form.getAll('keyterms')).toEqual(['whispery', 'soft']);
    expect(Buffer.from(await (form.get('file') as File).arrayBuffer()).toString()).toBe('sound');
  });

  it('refuses a prompt, and names the alternative', async () => {
    const maker = await replay([read('transcription')]);
    const { status, json } = await maker.transcribe(Buffer.from('sound'), { prompt: 'names' }, 'scribe_v2');
    expect([status, json().error]).toMatchObject([
      400,
      { param: 'prompt', message: expect.stringContaining('keyterms') },
    ]);
  });
});

describe('errors', () => {
  it('reports an unknown voice as an error of the request', async () => {
    const maker = await replay([read('voice-missing')]);
    const { status, json } = await maker.call('speech', { input: 'Hello', voice: 'unknown-voice' });
    expect([status, json().error]).toMatchObject([
      400,
      { message: expect.stringContaining('was not found') },
    ]);
  });

  it('an account of ours without credits is not an error of the request', async () => {
    const maker = await replay([read('quota')]);
    expect(await maker.call('speech', { input: 'Hello' })).toMatchObject({ status: 401 });
    expect(await maker.transcribe(Buffer.from('sound'), {}, 'scribe_v2')).toMatchObject({ status: 401 });
  });
});
