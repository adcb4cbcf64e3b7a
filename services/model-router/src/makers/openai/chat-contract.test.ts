// Tests the OpenAI chat adapter against documented and recorded answers.
import { describe, expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  CONVERSATION,
  chatFixture,
  failureOf,
  HELLO,
  PIXEL,
  SCHEMA,
  TOOLS,
  usageOf,
  withMaker,
} from '../__fixtures__/replayed-chat.ts';
import { openai } from './index.ts';

const model = 'gpt-4.1-nano';
const folder = import.meta.dirname;
const answer = (name: string) => chatFixture(folder, `chat-${name}`);
const settings = {
  tools: TOOLS,
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
const content = [
  { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
  { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
  { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
];
const messages = [{ role: 'user', name: 'Ada', content }];
const toolCalls = [
  { id: 'call_abc', name: 'weather', arguments: '{"place":"Oslo"}' },
  { id: 'call_def', name: 'weather', arguments: '{"place":"Rome"}' },
];
const usage = usageOf(2006, 300, { cached: 1920, reasoning: 64 });

describeChat(openai, {
  folder,
  model,
  conversation: {
    settings,
    path: '/chat/completions',
    headers: { authorization: 'Bearer a key of ours' },
    json: {
      ...settings,
      model,
      messages: CONVERSATION.with(4, { role: 'tool', tool_call_id: 'call_2', content: 'sun' }),
    },
  },
  requests: [['sound, a document, a name, and images by URL with their detail', { messages }, { messages }]],
  answers: {
    text: { content: '**Holiday Name:** Galaxy Day', refusal: '', finishReason: 'stop', usage },
    'tool-calls': { content: '', toolCalls, finishReason: 'tool_calls' },
    refusal: {
      ...{ content: '', refusal: "I'm sorry, I cannot assist with that request.", finishReason: 'stop' },
    },
    length: { finishReason: 'length' },
    'content-filter': { finishReason: 'content_filter' },
    stream: { content: '**Holiday Name:**', finishReason: 'stop', usage },
    'tool-calls-stream': { toolCalls, finishReason: 'tool_calls' },
    'refusal-stream': { content: '', refusal: "I'm sorry, I cannot.", finishReason: 'stop' },
  },
  refused: [
    ['n', { n: 2 }],
    ['audio', { audio: { voice: 'alloy', format: 'wav' }, modalities: ['text', 'audio'] }],
    ['functions', { functions: [] }],
    ['tools.1.type', { tools: [...TOOLS, { type: 'custom', custom: { name: 'free' } }] }],
    ['tool_choice.type', { tools: TOOLS, tool_choice: { type: 'custom', custom: { name: 'free' } } }],
  ],
  errors: {
    'error-401': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 2 },
    'error-400': { status: 400, kind: 'rejected', said: /does not support 0.2/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long' },
    'error-refused': { status: 400, kind: 'rejected', said: /usage policy/ },
  },
});

test('a whole answer has its id, its time and its log probabilities', () =>
  withMaker(openai, [answer('text')], async ({ call }) => {
    expect((await call('language', { ...HELLO, logprobs: true }, { model })).json()).toMatchObject({
      id: 'chatcmpl-D8Z5f52zQqikDBEKQMQoYcWMcWPeU',
      created: 1770933883,
      choices: [{ logprobs: { content: [{ token: 'Hi', logprob: -0.31725305 }] } }],
    });
  }));

test('numbers above 2^53 in the arguments of earlier calls keep their digits', () =>
  withMaker(openai, [answer('text')], async ({ call, requests }) => {
    const called = { name: 'weather', arguments: '{"station":12345678901234567890,"height":1.5}' };
    const messages = [
      ...HELLO.messages,
      { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: called }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
    ];
    await call('language', { messages }, { model });
    expect(requests[0]?.json()).toMatchObject({ messages: [{}, { tool_calls: [{ function: called }] }, {}] });
  }));

describe('tools of a model whose chat takes them without reasoning only', () => {
  const asked = async (upstreamModel: string, fields: object) => {
    let refusal: unknown = null;
    let sent: Record<string, unknown> | undefined;
    await withMaker(openai, [answer('tool-calls')], async ({ call, requests }) => {
      const outcome = await call('language', { ...HELLO, ...fields }, { model: upstreamModel });
      if (outcome.status !== 200) refusal = failureOf(outcome);
      sent = requests[0]?.json();
    });
    return { refusal, sent };
  };

  test.each(['gpt-5.6', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-6-luna', 'gpt-6.1-terra'])(
    '%s gets the effort none, and another effort is for a fallback',
    async (name) => {
      const { sent } = await asked(name, { tools: TOOLS });
      expect(sent).toMatchObject({ tools: TOOLS, reasoning_effort: 'none' });
      expect((await asked(name, { tools: TOOLS, reasoning_effort: 'none' })).refusal).toBeNull();
      const { refusal } = await asked(name, { tools: TOOLS, reasoning_effort: 'low' });
      expect(refusal).toMatchObject({ kind: 'unsupported', param: 'reasoning_effort' });
    },
  );

  test.each(['gpt-6-astra', 'gpt-6.1-sol'])('%s always reasons: tools are for a fallback', async (name) => {
    const { refusal } = await asked(name, { tools: TOOLS });
    expect(refusal).toMatchObject({ kind: 'unsupported', param: 'tools' });
  });

  test('changes nothing without tools, and nothing for earlier models', async () => {
    const plain = await asked('gpt-5.6', { reasoning_effort: 'low' });
    expect(plain.sent).toMatchObject({ reasoning_effort: 'low' });
    expect((await asked('gpt-6-astra', {})).sent).not.toHaveProperty('reasoning_effort');
    expect((await asked('gpt-5.4', { tools: TOOLS })).sent).not.toHaveProperty('reasoning_effort');
  });
});

test('a stream is asked for its usage', () =>
  withMaker(openai, [answer('stream')], async ({ call, requests }) => {
    await call('language', { ...HELLO, stream: true }, { model });
    expect(requests[0]?.json()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  }));

test('a stream with an error in its middle ends with the maker’s message', () =>
  withMaker(openai, [answer('error-mid-stream')], async ({ call }) => {
    const broken = call('language', { ...HELLO, stream: true }, { model });
    await expect(broken).rejects.toThrow(/had an error while processing/);
  }));
