// Tests the xAI chat adapter against documented and recorded answers.
import { expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  chatFixture,
  HELLO,
  messageOf,
  PIXEL,
  SCHEMA,
  TOOLS,
  usageOf,
  withMaker,
} from '../__fixtures__/replayed-chat.ts';
import { xai } from './index.ts';

const model = 'grok-4';
const folder = import.meta.dirname;
const settings = {
  tool_choice: 'required',
  parallel_tool_calls: false,
  temperature: 0.2,
  top_p: 0.9,
  seed: 7,
  user: 'end-user-7',
};
const imageByUrl = { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } };
const sentCall = (id: string, place: string) => ({
  ...{ type: 'function_call', id, call_id: id, status: 'completed' },
  ...{ name: 'weather', arguments: JSON.stringify({ place }) },
});
const toolCalls = [
  { id: 'call_1a', name: 'weather', arguments: '{"place":"Oslo"}' },
  { id: 'call_2b', name: 'weather', arguments: '{"place":"Rome"}' },
];

describeChat(xai, {
  folder,
  model,
  // A Responses request; not stored by default.
  conversation: {
    settings: { ...settings, max_completion_tokens: 64 },
    path: '/responses',
    headers: { authorization: 'Bearer a key of ours' },
    json: {
      ...settings,
      model,
      store: false,
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 64,
      tools: [{ type: 'function', ...TOOLS[0]?.function }],
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
        sentCall('call_1', 'Oslo'),
        sentCall('call_2', 'Rome'),
        { type: 'function_call_output', call_id: 'call_1', output: 'snow' },
        { type: 'function_call_output', call_id: 'call_2', output: 'sun' },
        { role: 'user', content: [{ type: 'input_text', text: 'Thanks. And tomorrow?' }] },
      ],
    },
  },
  requests: [
    [
      'a JSON schema for its answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } } },
      { text: { format: { type: 'json_schema', name: 'sum', schema: SCHEMA } } },
    ],
    [
      'images by URL with their detail',
      { messages: [{ role: 'user', content: [imageByUrl] }] },
      {
        input: [
          { content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' }] },
        ],
      },
    ],
  ],
  answers: {
    text: {
      ...{ content: 'Overview of Sonoran cuisine', reasoning: 'First, the question.' },
      ...{ finishReason: 'stop', usage: usageOf(5165, 891, { cached: 1152, reasoning: 860 }) },
    },
    'tool-calls': { toolCalls, finishReason: 'tool_calls' },
    length: { finishReason: 'length' },
    stream: {
      ...{ content: 'Overview of Sonoran cuisine ✓', reasoning: 'First, the question.' },
      ...{ finishReason: 'stop', usage: usageOf(5467, 593, { cached: 1152, reasoning: 575 }) },
    },
    'tool-calls-stream': { toolCalls, finishReason: 'tool_calls' },
  },
  refused: [
    ['n', { n: 2 }],
    ['stop', { stop: 'END' }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['logprobs', { logprobs: true }],
  ],
  errors: {
    'error-key': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-credits': { status: 402, kind: 'fault' },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 3 },
    'error-400': { status: 400, kind: 'rejected', said: /Invalid arguments/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long', said: /131072/ },
    'error-refused': { status: 403, kind: 'rejected', said: /usage guidelines/ },
  },
});

test('a chat to be stored is not sent with store false', () =>
  withMaker(xai, [chatFixture(folder, 'chat-text')], async ({ call, requests }) => {
    await call('language', { ...HELLO, store: true }, { model });
    expect(requests[0]?.json()).not.toHaveProperty('store', false);
  }));

test('a next turn has the encrypted reasoning of the last', () =>
  withMaker(xai, [chatFixture(folder, 'chat-text')], async ({ call, requests }) => {
    const first = messageOf(await call('language', HELLO, { model }));
    await call('language', { messages: [...HELLO.messages, first, ...HELLO.messages] }, { model });
    expect(requests[1]?.json().input).toContainEqual(
      expect.objectContaining({ type: 'reasoning', encrypted_content: 'kj3fAb4+9vu5' }),
    );
  }));
