// Tests the Anthropic adapter against documented and recorded answers.
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
import type { WireRequest } from '../__fixtures__/replayed-maker.ts';
import { anthropic } from './index.ts';

const folder = import.meta.dirname;
const answer = (name: string) => chatFixture(folder, `chat-${name}`);
const model = 'claude-sonnet-4-6';

describeChat(anthropic, {
  folder,
  model,
  conversation: {
    settings: {
      ...{ tool_choice: 'required', parallel_tool_calls: false, max_completion_tokens: 256 },
      ...{ temperature: 0.5, stop: 'END', user: 'end-user-7' },
    },
    path: '/messages',
    headers: {
      'x-api-key': 'a key of ours',
      'anthropic-version': '2023-06-01',
      'x-request-id': 'req_replayed',
    },
    json: {
      model,
      max_tokens: 256,
      temperature: 0.5,
      stop_sequences: ['END'],
      metadata: { user_id: 'end-user-7' },
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this, and how is the weather?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'A pixel.' },
            { type: 'tool_use', id: 'call_1', name: 'weather', input: { place: 'Oslo' } },
            { type: 'tool_use', id: 'call_2', name: 'weather', input: { place: 'Rome' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'snow' },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'sun' },
            { type: 'text', text: 'Thanks. And tomorrow?' },
          ],
        },
      ],
      tools: [
        {
          name: 'weather',
          description: 'The weather at a place',
          input_schema: TOOLS[0]?.function.parameters,
        },
      ],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    },
  },
  requests: [
    [
      'a JSON schema as the format of the output',
      { response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: SCHEMA } } },
      { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    ],
  ],
  answers: {
    text: {
      ...{ content: "Hello! I'm doing well, thank you for asking.", refusal: '', finishReason: 'stop' },
      usage: usageOf(12 + 1800 + 2400, 30, { cached: 1800, written: 2400 }), // cached tokens are input
    },
    'cache-write-1h': {
      usage: {
        prompt_tokens: 12 + 2456,
        prompt_tokens_details: { cache_write_tokens: 2456, cache_write_1h_tokens: 2000 },
      },
    },
    'thinking-tool-calls': {
      ...{ content: "I'll look.", reasoning: 'The user wants the weather of two places.' },
      toolCalls: [
        { id: 'toolu_017R7ACrx7NF7sLDDtvdQ1u9', name: 'weather', arguments: '{"place":"Oslo"}' },
        { id: 'toolu_02', name: 'weather', arguments: '{"place":"Rome"}' },
      ],
      ...{ finishReason: 'tool_calls', usage: usageOf(599, 159, { reasoning: 18 }) },
    },
    refusal: { finishReason: 'content_filter' },
    length: { finishReason: 'length' },
    stream: {
      ...{ content: 'The greatest common divisor is **21** ✓', reasoning: "I'm working through it." },
      finishReason: 'stop',
      usage: usageOf(47 + 100 + 300, 373, { cached: 300, written: 100, reasoning: 62 }),
    },
    'tool-calls-stream': {
      toolCalls: [
        { id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'weather', arguments: '{"place": "Oslo"}' },
        { id: 'toolu_02', name: 'weather', arguments: '{"place": "Rome"}' },
      ],
      ...{ finishReason: 'tool_calls', usage: usageOf(472, 89) },
    },
    'tool-without-arguments-stream': { toolCalls: [{ id: 'toolu_03', name: 'now', arguments: '{}' }] },
  },
  refused: [
    ['seed', { seed: 7 }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['temperature', { temperature: 1.5 }],
    ['logit_bias', { logit_bias: { 50256: -100 } }],
    ['logprobs', { logprobs: true }],
    ['n', { n: 2 }],
    ['verbosity', { verbosity: 'low' }],
    ['service_tier', { service_tier: 'priority' }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['functions', { functions: [] }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['response_format.type', { response_format: { type: 'grammar' } }],
    ['tools.0.type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['tool_choice', { tool_choice: { type: 'allowed_tools', allowed_tools: {} } }],
    ['messages.0.name', { messages: [{ role: 'user', name: 'Ada', content: 'Hi' }] }],
    ['messages.0.role', { messages: [{ role: 'narrator', content: 'Hi' }] }],
    ['messages.0.content.0.type', { messages: [{ role: 'user', content: [{ type: 'video_url' }] }] }],
    ['messages.0.tool_call_id', { messages: [{ role: 'tool', tool_call_id: 'c', content: '' }] }],
    [
      'messages.0.tool_calls.0.function.arguments',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{' } }],
          },
        ],
      },
    ],
  ],
  errors: {
    'error-401': { status: 401, kind: 'fault', said: /^the upstream refused our credentials \(401\)$/ },
    'error-404': { status: 404, kind: 'fault' },
    'error-413': { status: 413, kind: 'rejected' },
    'error-429': { status: 429, kind: 'rate_limited', retryAfterS: 13 },
    'error-400': { status: 400, kind: 'rejected', said: /non-empty content/ },
    'error-529': { status: 529, kind: 'fault', said: /^Overloaded$/ },
    'error-too-long': { status: 400, kind: 'too_long', said: /208310 tokens/ },
    'error-credit': { status: 402, kind: 'fault' },
  },
});

test('a request has an image by its URL, cache marks, and thinking unchanged with its signature', () =>
  withMaker(anthropic, [answer('thinking-tool-calls'), answer('text')], async ({ call, requests }) => {
    const first = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
    const cache = { type: 'ephemeral' };
    await call(
      'language',
      {
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'Long rules.', cache_control: cache }] },
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
          },
          first,
          ...(first.tool_calls as { id: string }[]).map(({ id }) => ({
            role: 'tool',
            tool_call_id: id,
            content: [{ type: 'text', text: 'rain', cache_control: cache }],
          })),
        ],
        tools: TOOLS.map((tool) => ({ ...tool, cache_control: cache })),
      },
      { model },
    );
    const { system, messages, tools } = (requests[1] as WireRequest).json() as {
      system: unknown;
      tools: unknown;
      messages: { content: { type: string }[] }[];
    };
    expect(system).toEqual([{ type: 'text', text: 'Long rules.', cache_control: cache }]);
    expect(messages[0]?.content).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ]);
    expect(messages[2]?.content[0]).toMatchObject({ type: 'tool_result', cache_control: cache });
    expect(tools).toMatchObject([{ name: 'weather', cache_control: cache }]);
    const given = answer('thinking-tool-calls').json as { content: object[] };
    expect(messages[1]?.content.slice(0, 2)).toEqual(given.content.slice(0, 2));
  }));

test('a request has provider_options and unknown fields unchanged at the top level', () =>
  withMaker(anthropic, [answer('text')], async (maker) => {
    const { call, requests } = maker;
    const text = `{"model":"m","messages":[{"role":"user","content":"Hello"}],"mcp_servers":[],
      "provider_options":{"thinking":{"type":"enabled","budget_tokens":10000},"top_k":12345678901234567890,"x":1.0}}`;
    await call('language', {}, { model, bytes: Buffer.from(text) });
    const sent = requests[0]?.body.toString() ?? '';
    expect(sent).toContain('"thinking":{"type":"enabled","budget_tokens":10000}');
    expect(sent).toContain('"top_k":12345678901234567890');
    expect(sent).toContain('"x":1.0');
    expect(sent).toContain('"mcp_servers":[]');
    expect(sent).not.toContain('provider_options');
    expect(sent.match(/"max_tokens"/g)).toHaveLength(1);
  }));

test('a field with its default value is not refused', () =>
  withMaker(anthropic, [answer('text')], async ({ call }) => {
    const ordinary = {
      n: 1,
      logprobs: false,
      service_tier: 'auto',
      modalities: ['text'],
      response_format: { type: 'text' },
      seed: null,
      store: false,
      metadata: { a: 'b' },
    };
    expect((await call('language', { ...HELLO, ...ordinary }, { model })).status).toBe(200);
  }));

test('an answer has its id, and the thinking that a next turn sends back', () =>
  withMaker(anthropic, [answer('text'), answer('thinking-tool-calls')], async ({ call }) => {
    expect((await call('language', HELLO, { model })).json()).toMatchObject({
      ...{ id: 'msg_011CfWBu94HWxZXjXK6ZhEXM', object: 'chat.completion' },
      choices: [{ index: 0, message: { role: 'assistant', refusal: null }, logprobs: null }],
    });
    expect(messageOf(await call('language', HELLO, { model })).reasoning_details).toHaveLength(2);
  }));

test('a stream has the role first, and the signature of its thinking', () =>
  withMaker(anthropic, [answer('stream')], async ({ call, requests }) => {
    const read = readChunks(await call('language', { ...HELLO, stream: true }, { model }));
    expect(requests[0]?.json()).toMatchObject({ stream: true });
    expect(read.reasoningDetails).toEqual([
      {
        type: 'reasoning.text',
        text: "I'm working through it.",
        extra_content: { anthropic: { signature: expect.stringMatching(/^Eq4C/) } },
      },
    ]);
    expect(read.chunks.every(({ object }) => object === 'chat.completion.chunk')).toBe(true);
    expect(read.chunks[0]?.choices[0]?.delta.role).toBe('assistant');
  }));

test('a stream that begins with an error is an error with its status, and allows a fallback', () =>
  withMaker(anthropic, [answer('error-first-in-stream')], async ({ call }) => {
    const outcome = await call('language', { ...HELLO, stream: true }, { model });
    expect(outcome.status).toBe(529);
    expect(failureOf(outcome)).toMatchObject({ kind: 'fault', message: 'Overloaded' });
  }));

test.each(['error-mid-stream', 'cut-stream'])('a stream that breaks off (%s) never ends in [DONE]', (name) =>
  withMaker(anthropic, [answer(name)], async ({ call }) => {
    await expect(call('language', { ...HELLO, stream: true }, { model })).rejects.toThrow(
      /Overloaded|cut short/,
    );
  }),
);
