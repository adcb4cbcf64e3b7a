// Tests the xAI chat adapter against documented and recorded answers.
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
import { xai } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const model = 'grok-4';

describe('a chat request', () => {
  test('is a Responses request with every part of the conversation, and is not stored by default', () =>
    withMaker(xai, [answer('text')], async ({ call, requests }) => {
      const body = {
        messages: CONVERSATION,
        tools: TOOLS,
        tool_choice: 'required',
        parallel_tool_calls: false,
        max_completion_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        seed: 7,
        user: 'end-user-7',
      };
      expect((await call('language', body, { model })).status).toBe(200);
      const [request] = requests;
      expect(request?.path).toBe('/responses');
      expect(request?.headers).toMatchObject({ authorization: 'Bearer a key of ours' });
      expect(request?.json()).toMatchObject({
        model,
        store: false,
        include: ['reasoning.encrypted_content'],
        max_output_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        seed: 7,
        user: 'end-user-7',
        parallel_tool_calls: false,
        tool_choice: 'required',
        tools: [{ type: 'function', name: 'weather', parameters: TOOLS[0]?.function.parameters }],
        input: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is this, and how is the weather?' },
              { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` },
            ],
          },
          { role: 'assistant', content: 'A pixel.' },
          { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"place":"Oslo"}' },
          { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{"place":"Rome"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'snow' },
          { type: 'function_call_output', call_id: 'call_2', output: 'sun' },
          { role: 'user', content: [{ type: 'input_text', text: 'Thanks. And tomorrow?' }] },
        ],
      });
    }));

  test('with a JSON schema for its answer, and images by URL with their detail', () =>
    withMaker(xai, [answer('text')], async ({ call, requests }) => {
      const response_format = { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } };
      const content = [
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
      ];
      const messages = [{ role: 'user', content }];
      await call('language', { messages, response_format, store: true }, { model });
      const sent = requests[0]?.json();
      expect(sent).toMatchObject({
        text: { format: { type: 'json_schema', name: 'sum', schema: SCHEMA } },
        input: [
          { content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' }] },
        ],
      });
      expect(sent).not.toHaveProperty('store', false);
    }));

  test('with its encrypted reasoning sent back', () =>
    withMaker(xai, [answer('text')], async ({ call, requests }) => {
      const first = messageOf(await call('language', HELLO, { model }));
      await call('language', { messages: [...HELLO.messages, first, ...HELLO.messages] }, { model });
      expect(requests[1]?.json().input).toContainEqual(
        expect.objectContaining({ type: 'reasoning', encrypted_content: 'kj3fAb4+9vu5' }),
      );
    }));
});

describe('a whole answer', () => {
  test('has its text, its reasoning apart, and its usage with what was cached and thought', () =>
    withMaker(xai, [answer('text')], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      expect(messageOf(outcome)).toMatchObject({
        content: 'Overview of Sonoran cuisine',
        reasoning_content: 'First, the question.',
      });
      expect(finishReasonOf(outcome)).toBe('stop');
      expect(outcome.json().usage).toEqual(usageOf(5165, 891, { cached: 1152, reasoning: 860 }));
    }));

  test('has parallel tool calls, and says so', () =>
    withMaker(xai, [answer('tool-calls')], async ({ call }) => {
      const outcome = await call('language', { ...HELLO, tools: TOOLS }, { model });
      expect(messageOf(outcome).tool_calls).toEqual([
        { id: 'call_1a', type: 'function', function: { name: 'weather', arguments: '{"place":"Oslo"}' } },
        { id: 'call_2b', type: 'function', function: { name: 'weather', arguments: '{"place":"Rome"}' } },
      ]);
      expect(finishReasonOf(outcome)).toBe('tool_calls');
    }));

  test('that reached its limit has the finish reason length', () =>
    withMaker(xai, [answer('length')], async ({ call }) => {
      expect(finishReasonOf(await call('language', HELLO, { model }))).toBe('length');
    }));
});

describe('a stream', () => {
  test('has reasoning and text as they come, and one usage at the end', () =>
    withMaker(xai, [answer('stream')], async ({ call }) => {
      expect(readChunks(await call('language', { ...HELLO, stream: true }, { model }))).toMatchObject({
        content: 'Overview of Sonoran cuisine ✓',
        reasoning: 'First, the question.',
        finishReasons: ['stop'],
        usages: [usageOf(5467, 593, { cached: 1152, reasoning: 575 })],
        done: true,
      });
    }));

  test('has parallel tool calls under their index', () =>
    withMaker(xai, [answer('tool-calls-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model }));
      expect(read.toolCalls).toEqual([
        { id: 'call_1a', name: 'weather', arguments: '{"place":"Oslo"}' },
        { id: 'call_2b', name: 'weather', arguments: '{"place":"Rome"}' },
      ]);
      expect(read.finishReasons).toEqual(['tool_calls']);
    }));
});

describe('an unsupported field is refused by name before anything is sent', () => {
  test.each([
    ['n', { n: 2 }],
    ['stop', { stop: 'END' }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['logprobs', { logprobs: true }],
  ])('%s', (param, fields) =>
    withMaker(xai, [answer('text')], async ({ call, requests }) => {
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
    ['error-credits', { status: 402, kind: 'fault' }],
    ['error-429', { status: 429, kind: 'rate_limited', retryAfterS: 3 }],
    ['error-400', { status: 400, kind: 'rejected', said: /Invalid arguments/ }],
    ['error-503', { status: 503, kind: 'fault' }],
    ['error-too-long', { status: 400, kind: 'too_long', said: /131072/ }],
    ['error-refused', { status: 400, kind: 'rejected', said: /usage guidelines/ }],
  ])('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(xai, answer(name), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1);
    }
  });
});
