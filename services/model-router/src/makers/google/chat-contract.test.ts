// Tests the Google chat adapter against documented and recorded answers.
import { describe, expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  chatFixture,
  failureOf,
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

const folder = import.meta.dirname;
const answer = (name: string) => chatFixture(folder, `chat-${name}`);
const model = 'gemini-3-pro-preview';
const usage = usageOf(2009, 29 + 258, { cached: 1800, reasoning: 258 });
const called = (id: string, place: string) => ({
  functionCall: { id, name: 'weather', args: { place } },
  thoughtSignature: 'skip_thought_signature_validator',
});
const returned = (id: string, content: string) => ({
  functionResponse: { id, name: 'weather', response: { name: 'weather', content } },
});
const { name, description, parameters } = TOOLS[0]?.function ?? {};

describeChat(google, {
  folder,
  model,
  conversation: {
    settings: {
      tool_choice: { type: 'function', function: { name: 'weather' } },
      ...{ max_tokens: 64, temperature: 0.2, top_p: 0.9, stop: ['END'], seed: 7, reasoning_effort: 'low' },
    },
    path: `/models/${model}:generateContent`,
    headers: { 'x-goog-api-key': 'a key of ours' },
    json: {
      generationConfig: {
        ...{ maxOutputTokens: 64, temperature: 0.2, topP: 0.9, stopSequences: ['END'], seed: 7 },
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
        { role: 'model', parts: [{ text: 'A pixel.' }, called('call_1', 'Oslo'), called('call_2', 'Rome')] },
        { role: 'user', parts: [returned('call_1', 'snow'), returned('call_2', 'sun')] },
        { role: 'user', parts: [{ text: 'Thanks. And tomorrow?' }] },
      ],
      tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } },
    },
  },
  requests: [
    [
      'a JSON schema for its answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } } },
      {
        generationConfig: {
          responseMimeType: 'application/json',
          responseJsonSchema: { properties: { answer: { type: 'integer' } }, required: ['answer'] },
        },
      },
    ],
  ],
  answers: {
    text: { content: 'There are **3** "r"s in strawberry.', reasoning: 'Counting the letters.', usage },
    'tool-calls': {
      toolCalls: [
        { id: expect.any(String), name: 'weather', arguments: '{"place":"Oslo"}' },
        { id: expect.any(String), name: 'weather', arguments: '{"place":"Rome"}' },
      ],
      finishReason: 'tool_calls',
    },
    blocked: { finishReason: 'content_filter' },
    safety: { finishReason: 'content_filter' },
    length: { finishReason: 'length' },
    stream: { content: 'There are **3** ✓', reasoning: 'Counting', finishReason: 'stop', usage },
    'tool-calls-stream': {
      toolCalls: [
        {
          ...{ id: expect.any(String), name: 'weather', arguments: '{"place":"Oslo"}' },
          extra_content: { google: { thought_signature: expect.stringMatching(/^Esw/) } },
        },
        { id: expect.any(String), name: 'weather', arguments: '{"place":"Rome"}' },
      ],
      finishReason: 'tool_calls',
    },
  },
  refused: [
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['parallel_tool_calls', { parallel_tool_calls: false }],
    ['logit_bias', { logit_bias: { 1: 1 } }],
  ],
  errors: {
    'error-key': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-place': { status: 403, kind: 'fault' },
    'error-404': { status: 404, kind: 'fault' },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 34.4 },
    'error-400': { status: 400, kind: 'rejected', said: /MINIMAL is not supported/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long', said: /1200000/ },
  },
});

test("a request has provider_options beside its own settings in generationConfig, the caller's over ours elsewhere", () =>
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

test('a system message in the middle is sent as text of the user, since Google has none there', () =>
  withMaker(google, [answer('text')], async ({ call, requests }) => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'How are you?' },
    ];
    expect((await call('language', { messages }, { model })).status).toBe(200);
    expect(requests[0]?.json()).toMatchObject({
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Hi' }] },
        { role: 'user', parts: [{ text: 'Be brief.' }] },
        { role: 'user', parts: [{ text: 'Be kind.' }] },
        { role: 'user', parts: [{ text: 'How are you?' }] },
      ],
    });
  }));

test('a request has the signatures of earlier thoughts with the calls that they belong to', () =>
  withMaker(google, [answer('tool-calls'), answer('text')], async ({ call, requests }) => {
    const first = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
    const calls = first.tool_calls as { id: string; extra_content?: unknown }[];
    expect(calls[0]?.extra_content).toEqual({
      google: { thought_signature: expect.stringMatching(/^AY89/) },
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

test('a stream has the signature of a call once, in its first piece', () =>
  withMaker(google, [answer('tool-calls-stream')], async ({ call }) => {
    const answered = await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model });
    const pieces = [...answered.body.toString().matchAll(/"tool_calls":\[(\{.*?\})\]/g)].map(
      ([, piece]) => piece,
    );
    expect(pieces.map((piece) => piece?.includes('thought_signature'))).toEqual([true, false, false, false]);
  }));

test('an answer has its id, and ids for its tool calls that differ', () =>
  withMaker(google, [answer('text'), answer('tool-calls')], async ({ call }) => {
    expect((await call('language', HELLO, { model })).json().id).toBe('DniLab2dFPeSxN8PpqXY4Ag');
    const message = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
    const calls = message.tool_calls as { id: string }[];
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  }));

test.each([
  [false, 'AUDIO', 4_000],
  [true, 'AUDIO', 4_000],
  [true, 'TEXT', 0],
])(
  'the usage counts the sound in the input and in the cache, streamed: %s, cached: %s',
  (stream, modality, cached) => {
    const json = {
      candidates: [
        { content: { parts: [{ text: 'A dog.' }], role: 'model' }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: {
        ...{ promptTokenCount: 10_000, candidatesTokenCount: 3, cachedContentTokenCount: 4_000 },
        promptTokensDetails: [
          { modality: 'AUDIO', tokenCount: 9_990 },
          { modality: 'TEXT', tokenCount: 10 },
        ],
        cacheTokensDetails: [{ modality, tokenCount: 4_000 }],
      },
    };
    const base64 = Buffer.from(`data: ${JSON.stringify(json)}\n\n`).toString('base64');
    const source = 'https://ai.google.dev/api/generate-content#UsageMetadata';
    const given: Fixture = stream
      ? { source, headers: { 'content-type': 'text/event-stream' }, base64 }
      : { source, json };
    return withMaker(google, [given], async ({ call }) => {
      const answered = await call('language', { ...HELLO, stream }, { model });
      const { usage } = (stream ? readChunks(answered).chunks.at(-1) : answered.json()) as { usage: unknown };
      expect(usage).toMatchObject({
        prompt_tokens: 10_000,
        prompt_tokens_details: { cached_tokens: 4_000, audio_tokens: 9_990, cached_audio_tokens: cached },
      });
    });
  },
);

test('a stream uses the streaming path', () =>
  withMaker(google, [answer('stream')], async ({ call, requests }) => {
    await call('language', { ...HELLO, stream: true }, { model });
    expect(requests[0]?.path).toBe(`/models/${model}:streamGenerateContent`);
  }));

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

test.each([{}, { error: { code: 500, message: 'It failed.', status: 'INTERNAL' } }])(
  'an answer of 200 without content or a reason to finish is none: %o',
  (json) =>
    withMaker(google, [{ source: 'made for the test', json }], async ({ call }) => {
      const empty = call('language', { ...HELLO, stop: 'END' }, { model });
      await expect(empty).rejects.toThrow('the answer has nothing in it');
    }),
);
