// Tests the Cohere chat adapter against documented and recorded answers.
import { expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  CONVERSATION,
  chatFixture,
  HELLO,
  SCHEMA,
  TOOLS,
  usageOf,
  withMaker,
} from '../__fixtures__/replayed-chat.ts';
import { cohere } from './index.ts';

const model = 'command-a-03-2025';
const folder = import.meta.dirname;
const settings = {
  max_tokens: 64,
  temperature: 0.2,
  seed: 7,
  presence_penalty: 0.1,
  frequency_penalty: 0.2,
  safety_mode: 'STRICT',
};
const { tool_calls } = CONVERSATION[2] ?? {};
const toolCalls = [
  { id: 'weather_e8p4pn45zt0t', name: 'weather', arguments: '{"place":"Oslo"}' },
  { id: 'weather_pyxssbwnq9fq', name: 'weather', arguments: '{"place":"Rome"}' },
];

describeChat(cohere, {
  folder,
  model,
  conversation: {
    settings: { ...settings, tool_choice: 'required', top_p: 0.9, top_k: 3, stop: 'END' },
    path: '/chat',
    headers: { authorization: 'Bearer a key of ours' },
    json: {
      ...settings,
      model,
      ...{ tools: TOOLS, tool_choice: 'REQUIRED', p: 0.9, k: 3, stop_sequences: ['END'] },
      messages: [
        CONVERSATION[0],
        CONVERSATION[1],
        { role: 'assistant', tool_calls },
        { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
        { role: 'tool', tool_call_id: 'call_2', content: 'sun' },
        CONVERSATION[5],
      ],
    },
  },
  requests: [
    [
      'a JSON schema for its answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } } },
      { response_format: { type: 'json_object', json_schema: SCHEMA } },
    ],
  ],
  answers: {
    // The tokens that Cohere bills, without those of its own framing.
    text: {
      ...{ content: '2 + 2 = 4', reasoning: 'Addition, then.' },
      ...{ finishReason: 'stop', usage: usageOf(8, 578) },
    },
    'tool-calls': { toolCalls, finishReason: 'tool_calls' },
    length: { finishReason: 'length' },
    stream: {
      ...{ content: '2 + 2 = 4 ✓', reasoning: 'Addition, then.' },
      ...{ finishReason: 'stop', usage: usageOf(8, 578) },
    },
    'tool-calls-stream': { toolCalls, finishReason: 'tool_calls' },
  },
  refused: [
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['parallel_tool_calls', { parallel_tool_calls: false }],
    ['logit_bias', { logit_bias: { 1: 1 } }],
    ['verbosity', { verbosity: 'low' }],
  ],
  errors: {
    'error-401': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-404': { status: 404, kind: 'fault' },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 7 },
    'error-400': { status: 400, kind: 'rejected', said: /at least 1 token/ },
    'error-422': { status: 422, kind: 'rejected', said: /tool_choice/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long', said: /140000/ },
  },
});

test('the output of a model that failed is no answer', () =>
  withMaker(cohere, [chatFixture(folder, 'chat-failed')], async ({ call }) => {
    await expect(call('language', HELLO, { model })).rejects.toThrow(/the model failed/);
  }));
