// Replays OpenAI's images, speech, transcription, embeddings and decisions.
import { describe, expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { openai } from './index.ts';

const { read, replay } = replaysOf(openai, import.meta.dirname);

describe('images', () => {
  it('sends the caller’s fields, and gives base64 with OpenAI’s token counts', async () => {
    const maker = await replay([read('images')]);
    const { status, json } = await maker.call(
      'image',
      {
        prompt: 'A cute baby sea otter',
        n: 2,
        size: '1024x1024',
        quality: 'high',
        response_format: 'b64_json',
        user: 'end-user-7',
        provider_options: { moderation: 'low', a_field_of_tomorrow: { deep: [1, 2.5] } },
      },
      { model: 'gpt-image-2' },
    );
    expect(status).toBe(200);
    const answer = json();
    expect(answer.usage).toEqual({ input_tokens: 50, output_tokens: 50 });
    expect(answer.data).toEqual([
      { b64_json: expect.stringMatching(/^iVBOR/) },
      { b64_json: expect.any(String) },
    ]);
    const [request] = maker.requests;
    expect(request?.path).toBe('/images/generations');
    expect(request?.headers.authorization).toBe('Bearer a key of ours');
    expect(request?.json()).toEqual({
      model: 'gpt-image-2',
      prompt: 'A cute baby sea otter',
      n: 2,
      size: '1024x1024',
      quality: 'high',
      user: 'end-user-7',
      moderation: 'low',
      a_field_of_tomorrow: { deep: [1, 2.5] },
    });
  });

  it.each([
    ['seed', { seed: 7 }],
    ['aspect_ratio', { aspect_ratio: '16:9' }],
  ])('refuses %s, which OpenAI does not take, before anything is sent', async (param, field) => {
    const maker = await replay([read('images')]);
    const { status, json } = await maker.call('image', { prompt: 'x', ...field }, { model: 'gpt-image-2' });
    expect(status).toBe(400);
    expect(json().error).toMatchObject({ param, kind: 'unsupported' });
    expect(maker.requests).toHaveLength(0);
  });

  it('splits a request for more images than one call allows, and adds up the tokens', async () => {
    const maker = await replay([read('images')]);
    const { json } = await maker.call('image', { prompt: 'x', n: 3 }, { model: 'dall-e-3' });
    expect(maker.requests.map((request) => request.json().n)).toEqual([1, 1, 1]);
    expect(json().usage).toEqual({ input_tokens: 150, output_tokens: 150 });
  });

  it('has no count of tokens when one call of a split request has none', async () => {
    const { usage: _, ...uncounted } = read('images').json as Record<string, unknown>;
    const maker = await replay([read('images'), { ...read('images'), json: uncounted }]);
    const { json } = await maker.call('image', { prompt: 'x', n: 2 }, { model: 'dall-e-3' });
    expect(json().data).toHaveLength(2);
    expect(json().usage).toEqual({});
  });

  it('reports a refusal of the prompt as a refusal', async () => {
    const maker = await replay([read('images-refused')]);
    const { status, json } = await maker.call('image', { prompt: 'x' }, { model: 'gpt-image-2' });
    expect(status).toBe(400);
    expect(json().error).toMatchObject({ message: expect.stringContaining('rejected by the safety system') });
  });
});

describe('speech', () => {
  it('streams the audio as it arrives, with the content type that OpenAI states', async () => {
    const maker = await replay([read('speech')]);
    const { status, contentType, body } = await maker.call(
      'speech',
      {
        input: 'Hello',
        voice: 'coral',
        speed: 1.25,
        instructions: 'cheerful',
        provider_options: { stream_format: 'audio' },
      },
      { model: 'gpt-4o-mini-tts' },
    );
    expect([status, contentType]).toEqual([200, 'audio/mpeg']);
    expect(body.toString('base64')).toBe(read('speech').base64);
    expect(maker.requests[0]?.json()).toEqual({
      model: 'gpt-4o-mini-tts',
      input: 'Hello',
      voice: 'coral',
      response_format: 'mp3',
      speed: 1.25,
      instructions: 'cheerful',
      stream_format: 'audio',
    });
  });

  it('sends the id of a custom voice as OpenAI takes it', async () => {
    const maker = await replay([read('speech')]);
    const voice = { id: 'voice_123' };
    const { status } = await maker.call('speech', { input: 'Hello', voice });
    expect(status).toBe(200);
    expect(maker.requests[0]?.json()).toMatchObject({ voice });
  });

  it('has the format that was asked for when OpenAI does not name it', async () => {
    const wav = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), Buffer.alloc(32)]).toString('base64');
    const maker = await replay([
      { source: 'a WAV', headers: { 'content-type': 'application/octet-stream' }, base64: wav },
    ]);
    const { contentType, body } = await maker.call('speech', { input: 'Hello', response_format: 'wav' });
    expect(contentType).toBe('audio/wav');
    expect(body.toString('base64')).toBe(wav);
  });
});

describe('transcription', () => {
  const audio = Buffer.from('the bytes of some audio');

  it('gives the text with its language, length, segments and words', async () => {
    const maker = await replay([read('transcription-verbose')]);
    const { json } = await maker.transcribe(
      audio,
      {
        language: 'en',
        prompt: 'a beach',
        timestamp_granularities: ['word', 'segment'],
        provider_options: { temperature: 0.2 },
      },
      'whisper-1',
    );
    const answer = json();
    expect(answer).toMatchObject({ language: 'en', duration: 8.470000267028809 });
    expect(answer.text).toMatch(/^The beach/);
    expect(answer.segments).toEqual([
      { start: 0, end: 3.319999933242798, text: ' The beach was a popular spot on a hot summer day.' },
      { start: 3.32, end: 8.47, text: ' People were swimming.' },
    ]);
    expect(answer.words).toHaveLength(2);
    const form = await maker.requests[0]?.form();
    expect(form?.get('model')).toBe('whisper-1');
    expect(form?.get('language')).toBe('en');
    expect(form?.get('prompt')).toBe('a beach');
    expect(form?.get('temperature')).toBe('0.2');
    expect(form?.get('response_format')).toBe('verbose_json');
    expect(form?.getAll('timestamp_granularities[]')).toEqual(['word', 'segment']);
    const file = form?.get('file') as File;
    expect(Buffer.from(await file.arrayBuffer()).toString()).toBe('the bytes of some audio');
  });

  it('asks a model without verbose_json for a format that it supports', async () => {
    const maker = await replay([read('transcription')]);
    const { json } = await maker.transcribe(audio, {}, 'gpt-4o-transcribe');
    expect(json()).toMatchObject({ text: "Imagine the wildest idea that you've ever had.", segments: [] });
    expect((await maker.requests[0]?.form())?.get('response_format')).not.toBe('verbose_json');
  });

  it('refuses word times for a model that has none', async () => {
    const maker = await replay([read('transcription')]);
    const { status, json } = await maker.transcribe(
      audio,
      { timestamp_granularities: ['word'] },
      'gpt-4o-transcribe',
    );
    expect([status, json().error]).toMatchObject([400, { param: 'timestamp_granularities' }]);
  });
});

describe('embeddings', () => {
  it('gives vectors in order with the tokens, as numbers and as OpenAI writes them in base64', async () => {
    const maker = await replay([read('embeddings')]);
    const body = { input: ['one', 'two'], dimensions: 3, user: 'u', provider_options: { x: true } };
    const floats = (await maker.call('embedding', body, { model: 'text-embedding-3-small' })).json();
    expect(floats.usage).toEqual({ prompt_tokens: 8, total_tokens: 8 });
    expect(floats.data).toMatchObject([{ index: 0 }, { index: 1, embedding: [0.5, 0.25, -0.125] }]);
    expect(maker.requests[0]?.json()).toMatchObject({
      input: ['one', 'two'],
      dimensions: 3,
      user: 'u',
      x: true,
    });
    const base64 = (await maker.call('embedding', { ...body, encoding_format: 'base64' })).json();
    const [, second] = base64.data as { embedding: string }[];
    const bytes = Buffer.from(second?.embedding ?? '', 'base64');
    expect([0, 4, 8].map((at) => bytes.readFloatLE(at))).toEqual([0.5, 0.25, -0.125]);
  });

  it('splits inputs that exceed one call, joins the results in order and adds up the tokens', async () => {
    const maker = await replay(async (request) => {
      const input = request.json().input as string[];
      const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text)] }));
      return { source: 'made for the test', json: { data, usage: { prompt_tokens: input.length } } };
    });
    const input = Array.from({ length: 2050 }, (_, index) => String(index));
    const { data, usage } = (await maker.call('embedding', { input })).json() as {
      data: { index: number; embedding: number[] }[];
      usage: { prompt_tokens: number };
    };
    expect(maker.requests.map((request) => (request.json().input as string[]).length).sort()).toEqual([
      2, 2048,
    ]);
    expect(data.every(({ index, embedding }) => embedding[0] === index)).toBe(true);
    expect([data.length, usage.prompt_tokens]).toEqual([2050, 2050]);
  });

  it('splits inputs that exceed the bytes of one call, and joins the results in order', async () => {
    const maker = await replay(async (request) => {
      const input = request.json().input as string[];
      const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length] }));
      return { source: 'made for the test', json: { data, usage: { prompt_tokens: 1 } } };
    });
    const lengths = [200_000, 99_000, 200_001, 400_000, 7];
    const { json } = await maker.call('embedding', { input: lengths.map((length) => 'x'.repeat(length)) });
    expect(maker.requests.map((request) => (request.json().input as string[]).length).sort()).toEqual([
      1, 1, 1, 2,
    ]);
    expect((json().data as { embedding: number[] }[]).map(({ embedding: [length] }) => length)).toEqual(
      lengths,
    );
  });

  it('is no answer with another number of vectors, which would stand beside the wrong texts', async () => {
    const maker = await replay([read('embeddings')]); // two vectors
    await expect(maker.call('embedding', { input: ['one', 'two', 'three'] })).rejects.toThrow(
      /2 vectors for 3/,
    );
  });

  it('refuses token ids, which the provider package cannot send', async () => {
    const maker = await replay([read('embeddings')]);
    const { status, json } = await maker.call('embedding', { input: [[1, 2, 3]] });
    expect([status, json().error]).toMatchObject([400, { param: 'input' }]);
  });
});

describe('decisions', () => {
  const questions = {
    refund: { type: 'boolean', instructions: 'Was a refund asked for?' },
    team: { type: 'choice', instructions: 'Who takes it?', choices: ['billing', 'support'] },
    anger: { type: 'score', instructions: 'How angry?', criteria: ['calm', 'annoyed', 'furious'] },
    secret: { type: 'boolean', instructions: 'Tell me a secret?' },
  };

  it('asks all questions about the state, and gives each answer with its probability', async () => {
    const maker = await replay([read('decisions')]);
    const state = { ticket: { text: 'I was charged twice', paid: 12.5 } };
    const { json } = await maker.call(
      'decision',
      { state, questions, provider_options: { store: false } },
      { model: 'gpt-6-luna' },
    );
    expect(json()).toEqual({
      answers: {
        refund: { type: 'boolean', probability: 0.93 },
        team: {
          type: 'choice',
          choice: 'billing',
          probability: 0.8,
          probabilities: { billing: 0.8, support: 0.2 },
        },
        anger: { type: 'score', score: 1.3, probability: 0.7, probabilities: { 0: 0, 1: 0.7, 2: 0.3 } },
        secret: { type: 'refusal', probability: 0 },
      },
      usage: { inputTokens: 120, outputTokens: 12 },
    });
    const sent = maker.requests[0]?.json();
    expect(maker.requests[0]?.path).toBe('/decisions');
    expect(sent).toMatchObject({
      model: 'gpt-6-luna',
      store: false,
      input: [{ role: 'user', content: [{ type: 'input_json', data: state }] }],
    });
    expect(sent?.questions).toMatchObject([
      { type: 'predicate', name: 'refund', instructions: 'Was a refund asked for?' },
      { type: 'choice', name: 'team', choices: [{ value: 'billing' }, { value: 'support' }] },
      {
        type: 'score',
        name: 'anger',
        levels: [{ description: 'calm' }, { description: 'annoyed' }, { description: 'furious' }],
      },
      { type: 'predicate', name: 'secret' },
    ]);
  });

  it('keeps the digits of integers above 2^53 in the state', async () => {
    const maker = await replay([read('decisions')]);
    const bytes = Buffer.from(
      JSON.stringify({ state: { account: 1 }, questions }).replace(':1}', ':9007199254740993}'),
    );
    await maker.call('decision', {}, { model: 'gpt-6-luna', bytes });
    expect(maker.requests[0]?.body.toString()).toContain('"data":{"account":9007199254740993}');
  });

  it('splits questions that exceed one call, and answers every one', async () => {
    const maker = await replay(async (request) => {
      const asked = request.json().questions as { name: string }[];
      const answers = asked.map(({ name }) => ({ type: 'predicate', name, probability: 0.5 }));
      return {
        source: 'made for the test',
        json: { answers, usage: { input_tokens: 10, output_tokens: 0 } },
      };
    });
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`q${index}`, { type: 'boolean', instructions: 'Is it?' }]),
    );
    const { answers, usage } = (await maker.call('decision', { state: 'x', questions: many })).json();
    expect(Object.keys(answers as object)).toEqual(Object.keys(many));
    expect([maker.requests.length, usage]).toEqual([2, { inputTokens: 20, outputTokens: 0 }]);
  });

  it('refuses a choice without options, naming the question', async () => {
    const maker = await replay([read('decisions')]);
    const wrong = { which: { type: 'choice', instructions: 'Which?' } };
    const { status, json } = await maker.call('decision', { state: 'x', questions: wrong });
    expect([status, json().error]).toMatchObject([
      400,
      { param: 'questions', message: expect.stringContaining('questions.which') },
    ]);
    expect(maker.requests).toHaveLength(0);
  });
});

describe('errors', () => {
  const bodies = {
    image: { prompt: 'x' },
    speech: { input: 'x' },
    embedding: { input: 'x' },
    decision: { state: 'x', questions: { q: { type: 'boolean', instructions: 'Is it?' } } },
  } as const;
  const types = Object.keys(bodies) as (keyof typeof bodies)[];

  it.each(types)('%s: a rate limit reports the time to wait', async (type) => {
    const maker = await replay([read('rate-limited')]);
    expect(await maker.call(type, bodies[type])).toMatchObject({ status: 429, retryAfterS: 7 });
  });

  it.each(types)('%s: a refused key of ours is not an error of the request', async (type) => {
    const maker = await replay([read('bad-key')]);
    expect(await maker.call(type, bodies[type])).toMatchObject({ status: 401 });
  });

  it('transcription: both errors', async () => {
    const maker = await replay([read('rate-limited'), read('bad-key')]);
    expect(await maker.transcribe(Buffer.from('x'), {})).toMatchObject({ status: 429, retryAfterS: 7 });
    expect(await maker.transcribe(Buffer.from('x'), {})).toMatchObject({ status: 401 });
  });
});
