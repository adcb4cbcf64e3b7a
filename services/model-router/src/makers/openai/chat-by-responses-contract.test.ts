// Tests the chat of OpenAI's models since GPT-5.4, by Responses, against documented and recorded answers.
import { expect, test } from 'vitest';
import { describeChat } from '../__fixtures__/describe-chat.ts';
import {
  chatFixture,
  failureOf,
  HELLO,
  messageOf,
  PIXEL,
  readChunks,
  SCHEMA,
  TOOLS,
  usageOf,
  withMaker,
} from '../__fixtures__/replayed-chat.ts';
import { fixture } from '../__fixtures__/replayed-maker.ts';
import { faultOf } from '../failure.ts';
import { openai } from './index.ts';

const model = 'gpt-5.6';
const folder = import.meta.dirname;
const answer = (name: string) => chatFixture(folder, `responses-${name}`);
const sameName = {
  parallel_tool_calls: false,
  temperature: 0.2,
  top_p: 0.9,
  user: 'end-user-7',
  service_tier: 'flex',
  metadata: { a: 'b' },
  prompt_cache_key: 'k',
  safety_identifier: 's',
  a_field_of_tomorrow: [1],
};
const weather = { ...TOOLS[0]?.function, type: 'function' };
const sentCall = (call_id: string, place: string) => ({
  ...{ type: 'function_call', call_id, name: 'weather' },
  arguments: JSON.stringify({ place }),
});
const toolCalls = [
  { id: 'call_abc', name: 'weather', arguments: '{"place":"Oslo"}' },
  { id: 'call_def', name: 'weather', arguments: '{"place":"Rome"}' },
];
const REASONING = '**Two places**\n\nOne call each.';
const usage = usageOf(2006, 300, { cached: 1024, written: 896, reasoning: 64 });

describeChat(openai, {
  folder,
  model,
  conversation: {
    settings: {
      ...sameName,
      tool_choice: { type: 'function', function: { name: 'weather' } },
      response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } },
      max_completion_tokens: 64,
      reasoning_effort: 'low',
      verbosity: 'low',
    },
    path: '/responses',
    headers: { authorization: 'Bearer a key of ours' },
    json: {
      ...sameName,
      model,
      max_output_tokens: 64,
      reasoning: { effort: 'low' },
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'sum', strict: false, schema: SCHEMA },
      },
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ ...weather, strict: false }],
      tool_choice: { type: 'function', name: 'weather' },
      input: [
        { role: 'developer', content: 'Be brief.' },
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
      'strict tools and a strict answer, where asked for',
      {
        tools: [{ type: 'function', function: { ...TOOLS[0]?.function, strict: true } }],
        response_format: { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema: SCHEMA } },
      },
      { tools: [{ strict: true }], text: { format: { strict: true } } },
    ],
    ['the storage that the caller asks for', { store: true }, { store: true }],
    [
      'a document, and an image by URL with its detail',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'file',
                file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
              },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            ],
          },
        ],
      },
      {
        input: [
          {
            content: [
              { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
              { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
            ],
          },
        ],
      },
    ],
  ],
  answersOf: 'responses',
  answers: {
    text: {
      ...{ content: '12 + 7 = 19\n19 × 3 = 57', refusal: '', finishReason: 'stop' },
      ...{ reasoning: '**Reporting the result**\n\n12 and 7 make 19.' },
      usage: usageOf(865, 163, { reasoning: 128 }),
    },
    'tool-calls': { content: '', reasoning: REASONING, toolCalls, finishReason: 'tool_calls', usage },
    refusal: {
      ...{ content: '', refusal: "I'm sorry, I cannot assist with that request.", finishReason: 'stop' },
    },
    incomplete: { content: '12 + 7 = 19\n19 × 3 = 57', finishReason: 'length' },
    filtered: { content: '', finishReason: 'content_filter' },
    'tool-calls-stream': { content: '', reasoning: REASONING, toolCalls, finishReason: 'tool_calls', usage },
    'refusal-stream': { content: '', refusal: "I'm sorry, I cannot.", finishReason: 'stop' },
  },
  refused: [
    ['n', { n: 2 }],
    ['seed', { seed: 7 }],
    ['stop', { stop: 'END' }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['top_k', { top_k: 3 }],
    ['max_tokens', { max_completion_tokens: 15 }],
    ['logit_bias', { logit_bias: { 50256: -100 } }],
    ['logprobs', { logprobs: true }],
    ['prediction', { prediction: { type: 'content', content: 'x' } }],
    ['web_search_options', { web_search_options: {} }],
    ['messages.0.name', { messages: [{ role: 'user', name: 'Ada', content: 'Hello' }] }],
    ['tools.1.type', { tools: [...TOOLS, { type: 'custom', custom: { name: 'free' } }] }],
    ['background', { background: true }],
    ['provider_options.tools', { provider_options: { tools: [{ type: 'web_search' }] } }],
    ['provider_options.previous_response_id', { provider_options: { previous_response_id: 'resp_1' } }],
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

test.each(['gpt-5.4', 'gpt-5.5', 'gpt-5.6-terra', 'gpt-6-astra', 'gpt-6.1-sol', 'gpt-6-luna'])(
  '%s takes tools with a reasoning effort',
  (name) =>
    withMaker(openai, [answer('tool-calls')], async ({ call, requests }) => {
      const fields = { ...HELLO, tools: TOOLS, reasoning_effort: 'high' };
      expect((await call('language', fields, { model: name })).status).toBe(200);
      expect(requests[0]).toMatchObject({ path: '/responses' });
      expect(requests[0]?.json()).toMatchObject({ model: name, reasoning: { effort: 'high' } });
    }),
);

test.each([
  ['whole', 'tool-calls', [REASONING]],
  ['streamed', 'tool-calls-stream', ['**Two places**', '\n\nOne call each.']],
])('the next turn of a tool loop has the reasoning of the last, once: %s', (_, name, summary) =>
  withMaker(openai, [answer(name), answer('text')], async ({ call, requests }) => {
    const stream = name.endsWith('stream');
    const first = await call('language', { ...HELLO, tools: TOOLS, stream }, { model });
    const results = toolCalls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'snow' }));
    const messages = [...HELLO.messages, stream ? saidIn(first) : messageOf(first), ...results];
    await call('language', { messages, tools: TOOLS }, { model });
    expect(requests[1]?.json().input).toEqual([
      expect.anything(),
      {
        ...{ type: 'reasoning', id: expect.stringMatching(/^rs_/) },
        encrypted_content: expect.stringMatching(/^gAAAA.{100,}/),
        summary: summary.map((text) => ({ type: 'summary_text', text })),
      },
      sentCall('call_abc', 'Oslo'),
      sentCall('call_def', 'Rome'),
      { type: 'function_call_output', call_id: 'call_abc', output: 'snow' },
      { type: 'function_call_output', call_id: 'call_def', output: 'snow' },
    ]);
  }),
);

/** A stream as a client's message. */
function saidIn(outcome: Parameters<typeof readChunks>[0]): object {
  const { content, reasoningDetails, toolCalls: calls } = readChunks(outcome);
  const tool_calls = calls.map(({ id, extra_content, ...called }) => ({
    ...{ id, type: 'function', function: called, extra_content },
  }));
  return { role: 'assistant', content, reasoning_details: reasoningDetails, tool_calls };
}

test('an earlier model that continues a conversation is sent no reasoning', () =>
  withMaker(openai, [answer('tool-calls'), chatFixture(folder, 'chat-text')], async ({ call, requests }) => {
    const first = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
    const messages = [...HELLO.messages, first];
    expect((await call('language', { messages }, { model: 'gpt-4.1' })).status).toBe(200);
    expect(requests[1]?.json().messages).toEqual([
      ...HELLO.messages,
      {
        ...{ role: 'assistant', content: null },
        tool_calls: toolCalls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
      },
    ]);
  }));

test('numbers above 2^53 in the arguments of earlier calls keep their digits', () =>
  withMaker(openai, [answer('text')], async ({ call, requests }) => {
    const called = { name: 'weather', arguments: '{"station":12345678901234567890,"height":1.5}' };
    const messages = [
      ...HELLO.messages,
      { role: 'assistant', content: '', tool_calls: [{ id: 'call_1', type: 'function', function: called }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
    ];
    await call('language', { messages }, { model });
    expect(requests[0]?.json().input).toMatchObject([
      { role: 'user' },
      { type: 'function_call', ...called },
      { output: 'snow' },
    ]);
  }));

test.each([
  ['error-stream', 'fault'], // no credit of ours is left
  ['failed-limit', 'rate_limited'],
  ['failed-server', 'fault'],
  ['failed-prompt', 'rejected'],
])('a stream that fails before its first word is classified for fallback: %s is %s', (name, kind) =>
  withMaker(openai, [answer(name)], async ({ call }) =>
    expect(failureOf(await call('language', { ...HELLO, stream: true }, { model })).kind).toBe(kind),
  ),
);

test.each([
  ['server_error', 'fault'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['invalid_prompt', 'rejected'],
])('a whole answer of 200 that failed is classified for fallback: %s is %s', async (code, kind) => {
  const json = { status: 'failed', error: { code, message: 'It failed.' }, output: [] };
  await withMaker(openai, [{ source: '', json }], async ({ call }) => {
    const failure = await call('language', HELLO, { model }).catch(faultOf);
    expect(failure).toMatchObject({ kind, status: 200, message: expect.stringContaining('It failed.') });
  });
});

test('a stream that fails in its middle ends with the maker’s message', () => {
  const { events } = fixture(folder, 'responses-tool-calls-stream') as unknown as { events: object[] };
  const error = {
    type: 'error',
    error: { type: 'server_error', code: null, message: 'It broke.', param: null },
  };
  const data = [...events.slice(0, 8), error].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const broken = {
    ...{ source: '', headers: { 'content-type': 'text/event-stream' } },
    base64: Buffer.from(data).toString('base64'),
  };
  return withMaker(openai, [broken], async ({ call }) => {
    const failure = await call('language', { ...HELLO, stream: true }, { model }).catch(faultOf);
    expect(failure).toMatchObject({ kind: 'fault', message: 'the answer reported an error: It broke.' });
  });
});
