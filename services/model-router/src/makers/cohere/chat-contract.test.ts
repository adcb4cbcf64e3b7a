// Cohere's chat against documented and recorded answers.
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
import { cohere } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const model = 'command-a-03-2025';

describe('a chat request', () => {
  test('with every part of the conversation and the settings under its own names', () =>
    withMaker(cohere, [answer('text')], async ({ call, requests }) => {
      const body = {
        messages: CONVERSATION,
        tools: TOOLS,
        tool_choice: 'required',
        max_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        top_k: 3,
        stop: 'END',
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        safety_mode: 'STRICT',
      };
      expect((await call('language', body, { model })).status).toBe(200);
      const [request] = requests;
      expect(request?.path).toBe('/chat');
      expect(request?.headers).toMatchObject({ authorization: 'Bearer a key of ours' });
      const called = (id: string, place: string) => ({
        id,
        type: 'function',
        function: { name: 'weather', arguments: JSON.stringify({ place }) },
      });
      expect(request?.json()).toEqual({
        model,
        max_tokens: 64,
        temperature: 0.2,
        p: 0.9,
        k: 3,
        stop_sequences: ['END'],
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        safety_mode: 'STRICT',
        tools: TOOLS,
        tool_choice: 'REQUIRED',
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this, and how is the weather?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
            ],
          },
          { role: 'assistant', tool_calls: [called('call_1', 'Oslo'), called('call_2', 'Rome')] },
          { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
          { role: 'tool', tool_call_id: 'call_2', content: 'sun' },
          { role: 'user', content: 'Thanks. And tomorrow?' },
        ],
      });
    }));

  test('with a JSON schema for its answer', () =>
    withMaker(cohere, [answer('text')], async ({ call, requests }) => {
      const response_format = { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } };
      await call('language', { ...HELLO, response_format }, { model });
      expect(requests[0]?.json()).toMatchObject({
        response_format: { type: 'json_object', json_schema: SCHEMA },
      });
    }));
});

describe('a whole answer', () => {
  test('has its text, its thinking apart, and the tokens that it bills, not those of its own framing', () =>
    withMaker(cohere, [answer('text')], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      expect(messageOf(outcome)).toMatchObject({
        content: '2 + 2 = 4',
        reasoning_content: 'Addition, then.',
      });
      expect(finishReasonOf(outcome)).toBe('stop');
      expect(outcome.json().usage).toEqual(usageOf(8, 578));
    }));

  test('has parallel tool calls, and says so', () =>
    withMaker(cohere, [answer('tool-calls')], async ({ call }) => {
      const outcome = await call('language', { ...HELLO, tools: TOOLS }, { model });
      expect(messageOf(outcome).tool_calls).toEqual([
        {
          id: 'weather_e8p4pn45zt0t',
          type: 'function',
          function: { name: 'weather', arguments: '{"place":"Oslo"}' },
        },
        {
          id: 'weather_pyxssbwnq9fq',
          type: 'function',
          function: { name: 'weather', arguments: '{"place":"Rome"}' },
        },
      ]);
      expect(finishReasonOf(outcome)).toBe('tool_calls');
    }));

  test('that reached its limit has the finish reason length', () =>
    withMaker(cohere, [answer('length')], async ({ call }) => {
      expect(finishReasonOf(await call('language', HELLO, { model }))).toBe('length');
    }));

  test('of a model that failed is no answer', () =>
    withMaker(cohere, [answer('failed')], async ({ call }) => {
      await expect(call('language', HELLO, { model })).rejects.toThrow(/the model failed/);
    }));
});

describe('a stream', () => {
  test('has thinking and text as they come, and one usage at the end', () =>
    withMaker(cohere, [answer('stream')], async ({ call }) => {
      expect(readChunks(await call('language', { ...HELLO, stream: true }, { model }))).toMatchObject({
        content: '2 + 2 = 4 ✓',
        reasoning: 'Addition, then.',
        finishReasons: ['stop'],
        usages: [usageOf(8, 578)],
        done: true,
      });
    }));

  test('has the pieces of parallel tool calls under their index', () =>
    withMaker(cohere, [answer('tool-calls-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model }));
      expect(read.toolCalls).toEqual([
        { id: 'weather_e8p4pn45zt0t', name: 'weather', arguments: '{"place":"Oslo"}' },
        { id: 'weather_pyxssbwnq9fq', name: 'weather', arguments: '{"place":"Rome"}' },
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
    ['verbosity', { verbosity: 'low' }],
  ])('%s', (param, fields) =>
    withMaker(cohere, [answer('text')], async ({ call, requests }) => {
      const outcome = await call('language', { ...HELLO, ...fields }, { model });
      expect(outcome.json()).toMatchObject({ error: { code: 'adapter_lacks_field', param } });
      expect(failureOf(outcome)).toMatchObject({ kind: 'unsupported', param });
      expect(requests).toEqual([]);
    }),
  );
});

describe('an error', () => {
  test.each<[string, ExpectedFailure]>([
    ['error-401', { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ }],
    ['error-404', { status: 404, kind: 'fault' }],
    ['error-429', { status: 429, kind: 'rate_limited', retryAfterS: 7 }],
    ['error-400', { status: 400, kind: 'rejected', said: /at least 1 token/ }],
    ['error-422', { status: 422, kind: 'rejected', said: /tool_choice/ }],
    ['error-503', { status: 503, kind: 'fault' }],
    ['error-too-long', { status: 400, kind: 'too_long', said: /140000/ }],
  ])('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(cohere, answer(name), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1);
    }
  });
});
