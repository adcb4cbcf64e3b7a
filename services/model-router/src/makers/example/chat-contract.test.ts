// Example's chat against its fixtures; describe-chat.ts sends each of them over a real socket, and calls the adapter.
import { describeChat } from '../__fixtures__/describe-chat.ts';
import { PIXEL, TOOLS, usageOf } from '../__fixtures__/replayed-chat.ts';
import { example } from './index.ts';

const [weather] = TOOLS;
const toolCalls = [
  { id: 'c1', name: 'weather', arguments: '{"place":"Oslo"}' },
  { id: 'c2', name: 'weather', arguments: '{"place":"Rome"}' },
];

describeChat(example, {
  folder: import.meta.dirname,
  model: 'example-large',
  // The request for one conversation with every kind of content, two tool calls and these settings.
  conversation: {
    settings: {
      max_tokens: 64,
      temperature: 0.2,
      stop: 'END',
      tool_choice: 'required',
      a_field_of_tomorrow: [1],
    },
    path: '/generate',
    headers: { 'x-example-key': 'a key of ours' },
    json: {
      model: 'example-large',
      stream: false,
      cap: 64,
      heat: 0.2,
      stops: ['END'],
      use: 'required',
      a_field_of_tomorrow: [1], // unknown fields are passed on
      tools: [{ name: 'weather', about: weather?.function.description, input: weather?.function.parameters }],
      turns: [
        { by: 'system', parts: [{ words: 'Be brief.' }] },
        { by: 'user', parts: [{ words: 'What is this, and how is the weather?' }, { picture: PIXEL }] },
        {
          by: 'assistant',
          parts: [
            { words: 'A pixel.' },
            { call: 'call_1', tool: 'weather', input: { place: 'Oslo' } },
            { call: 'call_2', tool: 'weather', input: { place: 'Rome' } },
          ],
        },
        {
          by: 'tool',
          parts: [
            { call: 'call_1', result: 'snow' },
            { call: 'call_2', result: 'sun' },
          ],
        },
        { by: 'user', parts: [{ words: 'Thanks. And tomorrow?' }] },
      ],
    },
  },
  // By fixture, without `chat-`: the parts of the answer to compare. `...stream` is the answer to a stream.
  answers: {
    text: { content: 'Four.', finishReason: 'stop', usage: usageOf(20, 3, { cached: 16 }) },
    thinking: { content: 'Four.', reasoning: 'Two and two.', usage: usageOf(20, 8, { reasoning: 5 }) },
    'tool-calls': { content: '', toolCalls, finishReason: 'tool_calls' },
    length: { finishReason: 'length' },
    blocked: { finishReason: 'content_filter' },
    stream: {
      content: 'Four. ✓',
      reasoning: 'Two and two.',
      finishReason: 'stop',
      usage: usageOf(20, 9, { reasoning: 5 }),
    },
    'tool-calls-stream': { toolCalls, finishReason: 'tool_calls' },
  },
  // The field that the error names, and fields of a request: one for each setting that the maker lacks.
  refused: [
    ['top_p', { top_p: 0.5 }],
    ['top_k', { top_k: 3 }],
    ['seed', { seed: 7 }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['reasoning_effort', { reasoning_effort: 'low' }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['n', { n: 2 }],
  ],
  // By fixture: `fault`, `rate_limited` and `too_long` fall back; `rejected` is the caller's error.
  errors: {
    'error-key': { status: 401, kind: 'fault', said: /^the upstream refused our credentials/ },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 5 },
    'error-400': { status: 400, kind: 'rejected', said: /heat must be below 2/ },
    'error-503': { status: 503, kind: 'fault' },
    'error-too-long': { status: 400, kind: 'too_long' },
  },
});
