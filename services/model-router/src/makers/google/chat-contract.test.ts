// Google's chat against documented and recorded answers.
import { describe, expect, test } from 'vitest';
import {
  CONVERSATION,
  chatFixture,
  type ExpectedFailure,
  failureOf,
  failuresOf,
  finishReasonOf,
  HELLO,
  messageOf,
  PIXEL,
  readChunks,
  SCHEMA,
  TOOLS,
  usageOf,
  withMaker,
} from '../__fixtures__/replayed-chat.ts';
import type { Fixture } from '../__fixtures__/replayed-maker.ts';
import { google } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const model = 'gemini-3-pro-preview';

describe('a chat request', () => {
  test('as contents, a system instruction, and settings in generationConfig', () =>
    withMaker(google, [answer('text')], async ({ call, requests }) => {
      const body = {
        messages: CONVERSATION,
        tools: TOOLS,
        tool_choice: { type: 'function', function: { name: 'weather' } },
        max_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        stop: ['END'],
        seed: 7,
        reasoning_effort: 'low',
      };
      expect((await call('language', body, { model })).status).toBe(200);
      const [request] = requests;
      expect(request?.path).toBe(`/models/${model}:generateContent`);
      expect(request?.headers).toMatchObject({ 'x-goog-api-key': 'a key of ours' });
      expect(request?.json()).toMatchObject({
        generationConfig: {
          maxOutputTokens: 64,
          temperature: 0.2,
          topP: 0.9,
          stopSequences: ['END'],
          seed: 7,
          thinkingConfig: { thinkingLevel: 'low' },
        },
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'What is this, and how is the weather?' },
              { inlineData: { mimeType: 'image/png', data: PIXEL } },
            ],
          },
          {
            role: 'model',
            parts: [
              { text: 'A pixel.' },
              { functionCall: { name: 'weather', args: { place: 'Oslo' } } },
              { functionCall: { name: 'weather', args: { place: 'Rome' } } },
            ],
          },
          {
            role: 'user',
            parts: [
              { functionResponse: { name: 'weather', response: { content: 'snow' } } },
              { functionResponse: { name: 'weather', response: { content: 'sun' } } },
            ],
          },
          { role: 'user', parts: [{ text: 'Thanks. And tomorrow?' }] },
        ],
        tools: [{ functionDeclarations: [{ name: 'weather', description: 'The weather at a place' }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } },
      });
    }));

  test('with a JSON schema for its answer', () =>
    withMaker(google, [answer('text')], async ({ call, requests }) => {
      const response_format = { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } };
      await call('language', { ...HELLO, response_format }, { model });
      expect(requests[0]?.json()).toMatchObject({
        generationConfig: {
          responseMimeType: 'application/json',
          responseJsonSchema: { properties: { answer: { type: 'integer' } }, required: ['answer'] },
        },
      });
    }));

  test("with provider_options beside its own settings in generationConfig, the caller's over ours elsewhere", () =>
    withMaker(google, [answer('text')], async ({ call, requests }) => {
      const provider_options = {
        generationConfig: { thinkingConfig: { includeThoughts: true }, topP: 0.5 },
        safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      };
      await call('language', { ...HELLO, temperature: 0.2, top_p: 0.9, provider_options }, { model });
      expect(requests[0]?.json()).toMatchObject({
        generationConfig: { temperature: 0.2, topP: 0.5, thinkingConfig: { includeThoughts: true } },
        safetySettings: provider_options.safetySettings,
      });
    }));

  test('with the signatures of its thoughts sent back with the calls that they belong to', () =>
    withMaker(google, [answer('tool-calls'), answer('text')], async ({ call, requests }) => {
      const first = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
      const calls = first.tool_calls as { id: string; extra_content?: unknown }[];
      expect(calls[0]?.extra_content).toEqual({
        google: { thoughtSignature: expect.stringMatching(/^AY89/) },
      });
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'rain' }));
      await call('language', { messages: [...HELLO.messages, first, ...results], tools: TOOLS }, { model });
      expect(requests[1]?.json()).toMatchObject({
        contents: [
          {},
          {
            role: 'model',
            parts: [
              {
                functionCall: { name: 'weather', args: { place: 'Oslo' } },
                thoughtSignature: expect.stringMatching(/^AY89/),
              },
              { functionCall: { name: 'weather', args: { place: 'Rome' } } },
            ],
          },
          {},
        ],
      });
    }));
});

describe('an image by URL that the model does not fetch itself', () => {
  const older = 'gemini-2.0-flash';
  const asking = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const picture: Fixture = {
    source: 'one black pixel',
    headers: { 'content-type': 'image/png' },
    base64: PIXEL,
  };

  test('is fetched and sent along as bytes', () =>
    withMaker(google, [picture, answer('text')], async ({ call, requests, origin }) => {
      const outcome = await call('language', asking(`${origin}/a.png`), { model: older });
      expect(outcome.status).toBe(200);
      expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'GET /a.png',
        `POST /models/${older}:generateContent`,
      ]);
      expect(requests[1]?.json()).toMatchObject({
        contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: PIXEL } }] }],
      });
    }));

  test.each([
    ['in a private network', 'http://10.0.0.1/a.png', []],
    ['no image', '{origin}/page', ['GET']],
  ])('%s is refused, naming it', (_why, url, methods) =>
    withMaker(google, [answer('text')], async ({ call, requests, origin }) => {
      const outcome = await call('language', asking(url.replace('{origin}', origin)), { model: older });
      expect(failureOf(outcome)).toMatchObject({
        kind: 'unsupported',
        param: 'messages.0.content.0.image_url.url',
      });
      expect(requests.map(({ method }) => method)).toEqual(methods);
    }),
  );
});

describe('a whole answer', () => {
  test('has its text, its thinking apart, and its thoughts within the output', () =>
    withMaker(google, [answer('text')], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      expect(messageOf(outcome)).toMatchObject({
        content: 'There are **3** "r"s in strawberry.',
        reasoning_content: 'Counting the letters.',
      });
      expect(outcome.json()).toMatchObject({
        id: 'DniLab2dFPeSxN8PpqXY4Ag',
        usage: usageOf(2009, 29 + 258, { cached: 1800, reasoning: 258 }),
      });
    }));

  test('has parallel tool calls with ids of their own, and says so', () =>
    withMaker(google, [answer('tool-calls')], async ({ call }) => {
      const outcome = await call('language', { ...HELLO, tools: TOOLS }, { model });
      const calls = messageOf(outcome).tool_calls as { id: string; function: { arguments: string } }[];
      expect(calls.map((one) => one.function.arguments)).toEqual(['{"place":"Oslo"}', '{"place":"Rome"}']);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(finishReasonOf(outcome)).toBe('tool_calls');
    }));

  test.each([
    ['blocked', 'content_filter'],
    ['safety', 'content_filter'],
    ['length', 'length'],
  ])('that ended by %s says %s, and is an answer', (name, reason) =>
    withMaker(google, [answer(name)], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      expect(outcome.status).toBe(200);
      expect(finishReasonOf(outcome)).toBe(reason);
    }),
  );
});

describe('a stream', () => {
  test('has thinking and text as they come, and one usage at the end', () =>
    withMaker(google, [answer('stream')], async ({ call, requests }) => {
      const read = readChunks(await call('language', { ...HELLO, stream: true }, { model }));
      expect(requests[0]?.path).toBe(`/models/${model}:streamGenerateContent`);
      expect(read).toMatchObject({
        content: 'There are **3** ✓',
        reasoning: 'Counting',
        finishReasons: ['stop'],
        usages: [usageOf(2009, 29 + 258, { cached: 1800, reasoning: 258 })],
        done: true,
      });
    }));

  test('has parallel tool calls under their index, with the signature', () =>
    withMaker(google, [answer('tool-calls-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model }));
      expect(read.toolCalls).toMatchObject([
        {
          name: 'weather',
          arguments: '{"place":"Oslo"}',
          extra_content: { google: { thoughtSignature: expect.stringMatching(/^Esw/) } },
        },
        { name: 'weather', arguments: '{"place":"Rome"}' },
      ]);
      expect(read.finishReasons).toEqual(['tool_calls']);
    }));
});

describe('an unsupported field is refused by name before anything is sent', () => {
  test.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['parallel_tool_calls', { parallel_tool_calls: false }],
    ['logit_bias', { logit_bias: { 1: 1 } }],
  ])('%s', (param, fields) =>
    withMaker(google, [answer('text')], async ({ call, requests }) => {
      const outcome = await call('language', { ...HELLO, ...fields }, { model });
      expect(outcome.json()).toMatchObject({ error: { code: 'adapter_lacks_field', param } });
      expect(failureOf(outcome)).toMatchObject({ kind: 'unsupported', param });
      expect(requests).toEqual([]);
    }),
  );
});

describe('an error', () => {
  test.each<[string, ExpectedFailure]>([
    ['error-key', { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ }],
    ['error-place', { status: 403, kind: 'fault' }],
    ['error-404', { status: 404, kind: 'fault' }],
    ['error-429', { status: 429, kind: 'rate_limited', retryAfterS: 34.4 }],
    ['error-400', { status: 400, kind: 'rejected', said: /MINIMAL is not supported/ }],
    ['error-503', { status: 503, kind: 'fault' }],
    ['error-too-long', { status: 400, kind: 'too_long', said: /1200000/ }],
  ])('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(google, answer(name), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1);
    }
  });
});
