// Google's embeddings, images and decisions, replayed.
import { describe, expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { google } from './index.ts';

const { read, replay } = replaysOf(google, import.meta.dirname);

describe('embeddings', () => {
  it('embeds one text by embedContent, and counts the tokens that Google reports', async () => {
    const maker = await replay([read('embedding')]);
    const body = {
      input: 'a text',
      dimensions: 768,
      provider_options: { taskType: 'RETRIEVAL_QUERY', new: { a: 1 } },
    };
    const { json } = await maker.call('embedding', body, { model: 'gemini-embedding-2' });
    expect(json()).toMatchObject({
      data: [{ object: 'embedding', index: 0, embedding: [0.013168523, -0.008711934, -0.046782676] }],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
    const [request] = maker.requests;
    expect(request?.path).toBe('/models/gemini-embedding-2:embedContent');
    expect(request?.headers['x-goog-api-key']).toBe('a key of ours');
    expect(request?.json()).toEqual({
      model: 'models/gemini-embedding-2',
      content: { parts: [{ text: 'a text' }] },
      outputDimensionality: 768,
      taskType: 'RETRIEVAL_QUERY',
      new: { a: 1 },
    });
  });

  it('puts provider_options into each request of a batch, and leaves out a count that Google does not give', async () => {
    const maker = await replay([read('embeddings')]);
    const body = { input: ['one', 'two'], provider_options: { taskType: 'CLUSTERING' } };
    const { json } = await maker.call('embedding', body, { model: 'gemini-embedding-001' });
    expect(json().data).toMatchObject([{ embedding: [0.1, 0.2, 0.3] }, { embedding: [0.4, 0.5, 0.6] }]);
    expect(json()).not.toHaveProperty('usage');
    expect(maker.requests[0]?.json().requests).toMatchObject([
      { content: { parts: [{ text: 'one' }] }, taskType: 'CLUSTERING' },
      { content: { parts: [{ text: 'two' }] }, taskType: 'CLUSTERING' },
    ]);
  });
});

describe('images', () => {
  it('uses generateContent, one image per call, and adds up the tokens', async () => {
    const maker = await replay([read('images')]);
    const { json } = await maker.call(
      'image',
      {
        prompt: 'a kitten',
        n: 2,
        aspect_ratio: '16:9',
        provider_options: {
          generationConfig: { imageConfig: { imageSize: '2K', aspectRatio: '16:9' } },
          labels: { a: 'b' },
        },
      },
      { model: 'gemini-2.5-flash-image' },
    );
    expect(json()).toMatchObject({
      data: [{ b64_json: expect.stringMatching(/^iVBOR/) }, { b64_json: expect.stringMatching(/^iVBOR/) }],
      usage: { input_tokens: 16, output_tokens: 2580 },
    });
    expect(maker.requests.map(({ path }) => path)).toEqual(
      Array(2).fill('/models/gemini-2.5-flash-image:generateContent'),
    );
    expect(maker.requests[0]?.json()).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: 'a kitten' }] }],
      generationConfig: {
        responseModalities: ['IMAGE'],
        imageConfig: { imageSize: '2K', aspectRatio: '16:9' },
      },
      labels: { a: 'b' },
    });
  });

  it('refuses a size before anything is sent', async () => {
    const maker = await replay([read('images')]);
    const { status, json } = await maker.call(
      'image',
      { prompt: 'x', size: '1024x1024' },
      { model: 'gemini-2.5-flash-image' },
    );
    expect([status, json().error]).toMatchObject([400, { param: 'size' }]);
    expect(maker.requests).toHaveLength(0);
  });

  it.each([
    ['an image that was held back', 'images-refused', 'IMAGE_SAFETY'],
    ['a prompt that was not let through', 'images-blocked', 'PROHIBITED_CONTENT'],
  ])('tells %s as a refusal, not as a fault', async (_what, answer, reason) => {
    const maker = await replay([read(answer)]);
    const { status, json } = await maker.call('image', { prompt: 'x' }, { model: 'gemini-2.5-flash-image' });
    const message = `the maker refused the content: ${reason}`;
    expect([status, json().error]).toMatchObject([400, { kind: 'rejected', message }]);
  });
});

describe('decisions', () => {
  it('asks by name, and gives each answer with its probability', async () => {
    const maker = await replay([read('decisions')]);
    const questions = {
      refund: {
        type: 'boolean',
        instructions: 'Refund?',
        criteria: { true: 'money back', false: 'anything else' },
      },
      team: { type: 'choice', instructions: 'Who?', criteria: { billing: 'about money', support: null } },
    };
    const { json } = await maker.call(
      'decision',
      { state: 'Give it back!', questions, provider_options: { x: 1 } },
      { model: 'gemini-decision-1' },
    );
    expect(json()).toEqual({
      answers: {
        refund: { type: 'boolean', probability: 0.91 },
        team: {
          type: 'choice',
          choice: 'billing',
          probability: 0.75,
          probabilities: { billing: 0.75, support: 0.25 },
        },
      },
      usage: { inputTokens: 64, outputTokens: 0 },
    });
    expect(maker.requests[0]?.json()).toMatchObject({
      model: 'gemini-decision-1',
      input: [{ type: 'text', text: 'Give it back!' }],
      questions: {
        refund: {
          type: 'noul',
          criteria: { true_description: 'money back', false_description: 'anything else' },
        },
        team: { type: 'choice', criteria: { billing: 'about money', support: null } },
      },
      x: 1,
    });
  });
});

describe('errors', () => {
  it.each([
    ['embedding', { input: 'x' }],
    ['image', { prompt: 'x' }],
    ['decision', { state: 'x', questions: { q: { type: 'boolean', instructions: 'Is it?' } } }],
  ] as const)('%s: an exhausted quota has the delay of its RetryInfo', async (type, body) => {
    const maker = await replay([read('quota')]);
    const model = 'gemini-2.5-flash-image';
    expect(await maker.call(type, body, { model })).toMatchObject({ status: 429, retryAfterS: 34 });
  });

  it('a delay of more than a day is cut to a day', async () => {
    const { json, ...quota } = read('quota');
    const longer = JSON.parse(JSON.stringify(json).replace('"34s"', `"${'9'.repeat(400)}s"`)) as object;
    const maker = await replay([{ ...quota, json: longer }]);
    expect(await maker.call('embedding', { input: 'x' }, { model: 'gemini-embedding-001' })).toMatchObject({
      status: 429,
      retryAfterS: 86_400,
    });
  });
});
