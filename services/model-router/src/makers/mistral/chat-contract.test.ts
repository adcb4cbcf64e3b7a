// Tests the Mistral chat adapter against documented and recorded answers.
import { expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  CONVERSATION,
  chatFixture,
  failuresOf,
  PIXEL,
  SCHEMA,
  TOOLS,
  usageOf,
} from '../__fixtures__/replayed-chat.ts';
import { mistral } from './index.ts';

const settings = {
  parallel_tool_calls: false,
  max_tokens: 64,
  temperature: 0.2,
  top_p: 0.9,
  stop: ['END'],
  presence_penalty: 0.1,
  frequency_penalty: 0.2,
  response_format: { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema: SCHEMA } },
  safe_prompt: true,
};
const imageByUrl = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
const toolCalls = [
  { id: 'gSIMJiOkT', name: 'weather', arguments: '{"place": "Oslo"}' },
  { id: 'hTJNKjPlU', name: 'weather', arguments: '{"place": "Rome"}' },
];

describeChat(mistral, {
  folder: import.meta.dirname,
  model: 'magistral-medium-latest',
  conversation: {
    settings: { ...settings, tool_choice: 'required', seed: 7 },
    path: '/chat/completions',
    headers: { authorization: 'Bearer a key of ours' },
    json: {
      ...settings,
      model: 'magistral-medium-latest',
      random_seed: 7,
      tools: TOOLS,
      tool_choice: 'any',
      messages: [
        CONVERSATION[0],
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this, and how is the weather?' },
            { type: 'image_url', image_url: `data:image/png;base64,${PIXEL}` },
          ],
        },
        CONVERSATION[2],
        { role: 'tool', name: 'weather', tool_call_id: 'call_1', content: 'snow' },
        { role: 'tool', name: 'weather', tool_call_id: 'call_2', content: 'sun' },
        { role: 'user', content: [{ type: 'text', text: 'Thanks. And tomorrow?' }] },
      ],
    },
  },
  requests: [
    [
      'images by their URL, which Mistral fetches itself',
      { messages: [{ role: 'user', content: [imageByUrl] }] },
      { messages: [{ content: [{ type: 'image_url', image_url: 'https://example.com/a.png' }] }] },
    ],
  ],
  answers: {
    text: { content: 'OK', finishReason: 'stop', usage: usageOf(1119, 2, { cached: 1024 }) },
    thinking: { content: 'Two.', reasoning: 'One and one.' },
    'tool-calls': { toolCalls, finishReason: 'tool_calls' },
    length: { finishReason: 'length' },
    stream: { content: 'Hello there ✓', finishReason: 'stop', usage: usageOf(1119, 4, { cached: 1024 }) },
    'thinking-stream': { content: 'Two.', reasoning: 'One and one.' },
    'tool-calls-stream': { toolCalls, finishReason: 'tool_calls' },
  },
  refused: [
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 1 } }],
    ['top_k', { top_k: 3 }],
    ['verbosity', { verbosity: 'low' }],
  ],
  errors: {
    'error-401': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 5 },
    'error-400': { status: 400, kind: 'rejected', said: /Expected last role/ },
    'error-422': { status: 422, kind: 'rejected', said: /less than or equal to 1.5/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long', said: /138241 tokens/ },
    'error-retired': { status: 404, kind: 'fault', said: /Invalid model/ },
  },
});

test('an error that repeats a long value of the request is classified at once', async () => {
  const error = chatFixture(import.meta.dirname, 'chat-error-422');
  const { json } = error as { json: { message: { detail: { input: unknown }[] } } };
  for (const issue of json.message.detail) issue.input = 'input token count '.repeat(60_000);
  const before = process.cpuUsage();
  const failures = await failuresOf(mistral, error, 'magistral-medium-latest');
  const { user } = process.cpuUsage(before);
  expect(failures.map(({ status, kind }) => ({ status, kind }))).toEqual(
    Array(2).fill({ status: 422, kind: 'rejected' }),
  );
  expect(user / 1_000).toBeLessThan(1_000);
});
