// Mistral's chat against documented and recorded answers.
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
import { mistral } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const model = 'magistral-medium-latest';

describe('a chat request', () => {
  test('with every part of the conversation and the settings under its own names', () =>
    withMaker(mistral, [answer('text')], async ({ call, requests }) => {
      const response_format = {
        type: 'json_schema',
        json_schema: { name: 'sum', strict: true, schema: SCHEMA },
      };
      const body = {
        messages: CONVERSATION,
        tools: TOOLS,
        tool_choice: 'required',
        parallel_tool_calls: false,
        max_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        stop: ['END'],
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        response_format,
        safe_prompt: true,
      };
      expect((await call('language', body, { model })).status).toBe(200);
      const [request] = requests;
      expect(request?.path).toBe('/chat/completions');
      expect(request?.headers).toMatchObject({ authorization: 'Bearer a key of ours' });
      const call_ = (id: string, place: string) => ({
        id,
        type: 'function',
        function: { name: 'weather', arguments: JSON.stringify({ place }) },
      });
      expect(request?.json()).toEqual({
        model,
        max_tokens: 64,
        temperature: 0.2,
        top_p: 0.9,
        stop: ['END'],
        random_seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        parallel_tool_calls: false,
        response_format,
        safe_prompt: true,
        tools: TOOLS,
        tool_choice: 'any',
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this, and how is the weather?' },
              { type: 'image_url', image_url: `data:image/png;base64,${PIXEL}` },
            ],
          },
          {
            role: 'assistant',
            content: 'A pixel.',
            tool_calls: [call_('call_1', 'Oslo'), call_('call_2', 'Rome')],
          },
          { role: 'tool', name: 'weather', tool_call_id: 'call_1', content: 'snow' },
          { role: 'tool', name: 'weather', tool_call_id: 'call_2', content: 'sun' },
          { role: 'user', content: [{ type: 'text', text: 'Thanks. And tomorrow?' }] },
        ],
      });
    }));

  test('with images by their URL, which it fetches itself', () =>
    withMaker(mistral, [answer('text')], async ({ call, requests }) => {
      const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
      await call('language', { messages: [{ role: 'user', content }] }, { model });
      expect(requests[0]?.json()).toMatchObject({
        messages: [{ content: [{ type: 'image_url', image_url: 'https://example.com/a.png' }] }],
      });
    }));
});

describe('a whole answer', () => {
  test('has its text and its usage with what was cached', () =>
    withMaker(mistral, [answer('text')], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      expect(messageOf(outcome)).toMatchObject({ role: 'assistant', content: 'OK', refusal: null });
      expect(finishReasonOf(outcome)).toBe('stop');
      expect(outcome.json().usage).toEqual(usageOf(1119, 2, { cached: 1024 }));
    }));

  test('has its thinking apart from its text', () =>
    withMaker(mistral, [answer('thinking')], async ({ call }) => {
      expect(messageOf(await call('language', HELLO, { model }))).toMatchObject({
        content: 'Two.',
        reasoning_content: 'One and one.',
      });
    }));

  test('has parallel tool calls', () =>
    withMaker(mistral, [answer('tool-calls')], async ({ call }) => {
      const outcome = await call('language', { ...HELLO, tools: TOOLS }, { model });
      expect(messageOf(outcome).tool_calls).toEqual([
        { id: 'gSIMJiOkT', type: 'function', function: { name: 'weather', arguments: '{"place": "Oslo"}' } },
        { id: 'hTJNKjPlU', type: 'function', function: { name: 'weather', arguments: '{"place": "Rome"}' } },
      ]);
      expect(finishReasonOf(outcome)).toBe('tool_calls');
    }));

  test('that reached its limit has the finish reason length', () =>
    withMaker(mistral, [answer('length')], async ({ call }) => {
      expect(finishReasonOf(await call('language', HELLO, { model }))).toBe('length');
    }));
});

describe('a stream', () => {
  test('has its text as it comes, and one usage at the end', () =>
    withMaker(mistral, [answer('stream')], async ({ call }) => {
      expect(readChunks(await call('language', { ...HELLO, stream: true }, { model }))).toMatchObject({
        content: 'Hello there ✓',
        finishReasons: ['stop'],
        usages: [usageOf(1119, 4, { cached: 1024 })],
        done: true,
      });
    }));

  test('has its thinking apart from its text', () =>
    withMaker(mistral, [answer('thinking-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, stream: true }, { model }));
      expect(read).toMatchObject({ reasoning: 'One and one.', content: 'Two.' });
    }));

  test('has parallel tool calls under their index', () =>
    withMaker(mistral, [answer('tool-calls-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model }));
      expect(read.toolCalls).toEqual([
        { id: 'gSIMJiOkT', name: 'weather', arguments: '{"place": "Oslo"}' },
        { id: 'hTJNKjPlU', name: 'weather', arguments: '{"place": "Rome"}' },
      ]);
      expect(read.finishReasons).toEqual(['tool_calls']);
    }));
});

describe('an unsupported field is refused by name before anything is sent', () => {
  test.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 1 } }],
    ['top_k', { top_k: 3 }],
    ['verbosity', { verbosity: 'low' }],
  ])('%s', (param, fields) =>
    withMaker(mistral, [answer('text')], async ({ call, requests }) => {
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
    ['error-429', { status: 429, kind: 'rate_limited', retryAfterS: 5 }],
    ['error-400', { status: 400, kind: 'rejected', said: /Expected last role/ }],
    ['error-422', { status: 422, kind: 'rejected', said: /less than or equal to 1.5/ }],
    ['error-503', { status: 503, kind: 'fault' }],
    ['error-too-long', { status: 400, kind: 'too_long', said: /138241 tokens/ }],
  ])('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(mistral, answer(name), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1);
    }
  });
});
