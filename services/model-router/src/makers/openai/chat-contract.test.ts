// Tests the chat of OpenAI's earlier models, by chat completions, against documented and recorded answers.
import { expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  CONVERSATION,
  chatFixture,
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
    [
      'provider_options.tools',
      { provider_options: { tools: [{ type: 'custom', custom: { name: 'free' } }] } },
    ],
    ['provider_options.functions', { provider_options: { functions: [] } }],
  ],
  errors: {
    'error-401': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 2 },
    'error-credit': { status: 402, kind: 'fault', said: /requires payment from us/ },
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
