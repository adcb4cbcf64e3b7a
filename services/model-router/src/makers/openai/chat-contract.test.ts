// Tests the OpenAI chat adapter against documented and recorded answers.
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
import { openai } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const model = 'gpt-4.1-nano';

describe('a chat request', () => {
  test('with its settings as the caller wrote them, and every part of the conversation', () =>
    withMaker(openai, [answer('text')], async ({ call, requests }) => {
      const settings = {
        tools: [...TOOLS, { type: 'custom', custom: { name: 'free' } }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        parallel_tool_calls: false,
        temperature: 0.2,
        top_p: 0.9,
        stop: 'END',
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        logit_bias: { 50256: -100 },
        logprobs: true,
        top_logprobs: 1,
        response_format: { type: 'json_schema', json_schema: { name: 'sum', strict: false, schema: SCHEMA } },
        max_completion_tokens: 64,
        reasoning_effort: 'low',
        user: 'end-user-7',
        service_tier: 'flex',
        metadata: { a: 'b' },
        store: true,
        verbosity: 'low',
        a_field_of_tomorrow: [1],
      };
      const outcome = await call('language', { messages: CONVERSATION, ...settings }, { model });
      expect(outcome.status).toBe(200);
      const [request] = requests;
      expect(request?.path).toBe('/chat/completions');
      expect(request?.headers).toMatchObject({ authorization: 'Bearer a key of ours' });
      expect(request?.json()).toEqual({
        ...settings,
        model,
        messages: [
          CONVERSATION[0],
          CONVERSATION[1],
          CONVERSATION[2],
          CONVERSATION[3],
          { role: 'tool', tool_call_id: 'call_2', content: 'sun' },
          CONVERSATION[5],
        ],
      });
    }));

  test('with sound, a document, a name, and images by URL with their detail', () =>
    withMaker(openai, [answer('text')], async ({ call, requests }) => {
      const content = [
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ];
      await call('language', { messages: [{ role: 'user', name: 'Ada', content }] }, { model });
      expect(requests[0]?.json()).toMatchObject({ messages: [{ role: 'user', name: 'Ada', content }] });
    }));
});

describe('a whole answer', () => {
  test('has its text, its log probabilities, and its usage with what was cached and thought', () =>
    withMaker(openai, [answer('text')], async ({ call }) => {
      expect((await call('language', { ...HELLO, logprobs: true }, { model })).json()).toMatchObject({
        id: 'chatcmpl-D8Z5f52zQqikDBEKQMQoYcWMcWPeU',
        created: 1770933883,
        choices: [
          {
            message: { role: 'assistant', content: '**Holiday Name:** Galaxy Day', refusal: null },
            logprobs: { content: [{ token: 'Hi', logprob: -0.31725305 }] },
            finish_reason: 'stop',
          },
        ],
        usage: usageOf(2006, 300, { cached: 1920, reasoning: 64 }),
      });
    }));

  test('has parallel tool calls', () =>
    withMaker(openai, [answer('tool-calls')], async ({ call }) => {
      const outcome = await call('language', { ...HELLO, tools: TOOLS }, { model });
      expect(messageOf(outcome)).toMatchObject({
        content: null,
        tool_calls: [
          { id: 'call_abc', type: 'function', function: { name: 'weather', arguments: '{"place":"Oslo"}' } },
          { id: 'call_def', type: 'function', function: { name: 'weather', arguments: '{"place":"Rome"}' } },
        ],
      });
      expect(finishReasonOf(outcome)).toBe('tool_calls');
    }));

  test('with a refusal text has it as its refusal, not as its content', () =>
    withMaker(openai, [answer('refusal'), answer('refusal-stream')], async ({ call }) => {
      const outcome = await call('language', HELLO, { model });
      const refusal = "I'm sorry, I cannot assist with that request.";
      expect(messageOf(outcome)).toMatchObject({ content: null, refusal });
      expect(finishReasonOf(outcome)).toBe('stop');
      const read = readChunks(await call('language', { ...HELLO, stream: true }, { model }));
      expect(read).toMatchObject({ content: '', refusal: "I'm sorry, I cannot.", finishReasons: ['stop'] });
    }));

  test.each([
    ['length', 'length'],
    ['content-filter', 'content_filter'],
  ])('that ended by %s says %s', (name, reason) =>
    withMaker(openai, [answer(name)], async ({ call }) => {
      expect(finishReasonOf(await call('language', HELLO, { model }))).toBe(reason);
    }),
  );
});

describe('a stream', () => {
  test('has its text as it comes, and one usage at the end', () =>
    withMaker(openai, [answer('stream')], async ({ call, requests }) => {
      const read = readChunks(await call('language', { ...HELLO, stream: true }, { model }));
      expect(requests[0]?.json()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
      expect(read).toMatchObject({
        content: '**Holiday Name:**',
        finishReasons: ['stop'],
        usages: [usageOf(2006, 300, { cached: 1920, reasoning: 64 })],
        done: true,
      });
    }));

  test('has the pieces of parallel tool calls under their index', () =>
    withMaker(openai, [answer('tool-calls-stream')], async ({ call }) => {
      const read = readChunks(await call('language', { ...HELLO, tools: TOOLS, stream: true }, { model }));
      expect(read.toolCalls).toEqual([
        { id: 'call_abc', name: 'weather', arguments: '{"place":"Oslo"}' },
        { id: 'call_def', name: 'weather', arguments: '{"place":"Rome"}' },
      ]);
      expect(read.finishReasons).toEqual(['tool_calls']);
    }));

  test('with an error in its middle ends with the maker’s message', () =>
    withMaker(openai, [answer('error-mid-stream')], async ({ call }) => {
      const broken = call('language', { ...HELLO, stream: true }, { model });
      await expect(broken).rejects.toThrow(/had an error while processing/);
    }));
});

describe('an unsupported field is refused by name before anything is sent', () => {
  test.each([
    ['n', { n: 2 }],
    ['audio', { audio: { voice: 'alloy', format: 'wav' }, modalities: ['text', 'audio'] }],
    ['functions', { functions: [] }],
  ])('%s', (param, fields) =>
    withMaker(openai, [answer('text')], async ({ call, requests }) => {
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
    ['error-429', { status: 429, kind: 'rate_limited', retryAfterS: 2 }],
    ['error-400', { status: 400, kind: 'rejected', said: /does not support 0.2/ }],
    ['error-503', { status: 503, kind: 'fault' }],
    ['error-too-long', { status: 400, kind: 'too_long' }],
    ['error-refused', { status: 400, kind: 'rejected', said: /usage policy/ }],
  ])('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(openai, answer(name), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1);
    }
  });
});
