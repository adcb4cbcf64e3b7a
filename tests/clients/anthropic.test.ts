// The official `@anthropic-ai/sdk` and `@ai-sdk/anthropic`, unchanged, against models of other makers.
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import type { UpstreamRequest } from '@switchyard/testing';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClientStack, chatCost, costOf, FAILING, startClientStack } from './client-stack.ts';

let clientStack: ClientStack;
let client: Anthropic;
let mongo: MongoClient;

beforeAll(async () => {
  clientStack = await startClientStack({ ANTHROPIC_API_KEY: 'sk-ant-ours' });
  client = new Anthropic({ baseURL: clientStack.stack.url, apiKey: clientStack.key, maxRetries: 0 });
  mongo = await MongoClient.connect(clientStack.stack.mongoUrl, { useBigInt64: true });
  script();
});
afterAll(async () => {
  await mongo?.close();
  await clientStack?.stop();
});

const hello = [{ role: 'user' as const, content: 'Hello!' }];
const HELLO_ANSWER = 'Hello! How can I assist you today?';
const COUNTED = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 };
const DETAIL = { type: 'reasoning.text', text: 'Let me see.', extra_content: { acme: { signature: 'abc' } } };

const weatherTool = {
  name: 'get_current_weather',
  description: 'Get the current weather in a given location',
  input_schema: {
    type: 'object' as const,
    properties: { location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' } },
    required: ['location'],
  },
};
const question = { role: 'user' as const, content: 'What is the weather like in Boston, MA?' };

/** Models whose answers are not recorded ones. */
function script(): void {
  const thought = { reasoning_content: 'Let me see.', reasoning_details: [DETAIL] };
  const thinks: Answer = {
    message: { ...thought, content: '42' },
    deltas: [
      { reasoning_content: 'Let me ' },
      { reasoning_content: 'see.' },
      { reasoning_details: [DETAIL] },
      { content: '42' },
    ],
    end: 'stop',
    nestsUsage: true,
  };
  const refuses: Answer = { message: { content: null }, deltas: [], end: 'content_filter' };
  clientStack.upstream.on(
    'thinks',
    (request, response) => void response.end(...bodyOf(thinks, request, response)),
  );
  clientStack.upstream.on(
    'refuses',
    (request, response) => void response.end(...bodyOf(refuses, request, response)),
  );
}

interface Answer {
  message: object;
  deltas: object[];
  end: string;
  /** Its last chunk has the usage in its choice, as Moonshot's. */
  nestsUsage?: boolean;
}

function bodyOf(
  { message, deltas, end, nestsUsage = false }: Answer,
  { json }: UpstreamRequest,
  response: { setHeader(name: string, value: string): void },
): [string] {
  const frame = { id: 'chatcmpl-1', created: 1, model: 'upstream' };
  response.setHeader('content-type', json?.stream ? 'text/event-stream' : 'application/json');
  if (!json?.stream)
    return [
      JSON.stringify({
        ...frame,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: end }],
        usage: COUNTED,
      }),
    ];
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) => ({
    ...frame,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason, ...more }],
  });
  const chunks = [
    ...deltas.map((delta) => chunk(delta, null)),
    chunk({}, end, nestsUsage ? { usage: COUNTED } : {}),
    ...(nestsUsage ? [] : [{ ...frame, choices: [], usage: COUNTED }]),
  ];
  return [`${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`];
}

/** Nano-dollars of the rows of a call in the ledger, once its line is in Logs: billing books the ledger before. */
async function bookedFor(requestId: string | null | undefined): Promise<bigint[]> {
  const init = { headers: { authorization: `Bearer ${clientStack.key}` } };
  const line = async () => (await fetch(`${clientStack.baseURL}/logs/${requestId}`, init)).json();
  await expect.poll(line).toMatchObject({ dialect: 'messages', path: '/v1/messages' });
  const rows = mongo
    .db()
    .collection('ledger')
    .find({ _id: requestId as never });
  return (await rows.toArray()).map(({ cost }) => cost as bigint);
}

const nanosOf = (usage: unknown) => [BigInt(Math.round(costOf(usage) * 1e9))];

describe('messages.create', () => {
  it('gives the answer as a message, whose cost is the one in the ledger', async () => {
    const { data, request_id: id } = await client.messages
      .create({ model: 'acme/chat-1', max_tokens: 64, messages: hello })
      .withResponse();
    expect(data).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'acme/chat-1',
      content: [{ type: 'text', text: HELLO_ANSWER }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 19, output_tokens: 10, cache_read_input_tokens: 0 },
    });
    expect(costOf(data.usage)).toBe(chatCost(19, 10));
    expect(await bookedFor(id)).toEqual(nanosOf(data.usage));
  });

  it('answers from a local model, with a system prompt, after falling back in `models`', async () => {
    const body = { model: FAILING[500], models: ['local/chat'], max_tokens: 64 };
    const answer = await client.messages.create({
      ...body,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'What is 6*7?' }],
    });
    expect(answer).toMatchObject({ model: 'local/chat', content: [{ type: 'text', text: '6*7 = 42' }] });
  });

  it('sends images to the upstream', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const answer = await client.messages.create({
      model: 'acme/chat-1',
      max_tokens: 64,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source },
            { type: 'text', text: 'What is in this image?' },
          ],
        },
      ],
    });
    expect(answer.content).toMatchObject([{ type: 'text', text: expect.stringContaining('boardwalk') }]);
    expect(clientStack.upstream.requests.at(-1)?.json?.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'text', text: 'What is in this image?' },
        ],
      },
    ]);
  });

  it.each(['acme/chat-1', 'local/chat'])(
    '%s: has tools called, and answers with their results',
    async (model) => {
      const ask = { model, max_tokens: 256, tools: [weatherTool] };
      const first = await client.messages.create({ ...ask, messages: [question] });
      expect(first.stop_reason).toBe('tool_use');
      const call = first.content.find((block) => block.type === 'tool_use');
      expect(call).toMatchObject({ name: 'get_current_weather', input: { location: 'Boston, MA' } });
      const result = {
        type: 'tool_result' as const,
        tool_use_id: call?.id ?? '',
        content: 'Sunny, 21 degrees',
      };
      const second = await client.messages.create({
        ...ask,
        messages: [
          question,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [result] },
        ],
      });
      expect(second.stop_reason).toBe('end_turn');
      expect(second.content[0]?.type).toBe('text');
    },
  );

  it('gives thinking to callers that ask for it, and the maker its own signature back', async () => {
    const ask = {
      model: 'acme/thinks',
      max_tokens: 4_096,
      thinking: { type: 'enabled' as const, budget_tokens: 2_048 },
    };
    const first = await client.messages.create({ ...ask, messages: hello });
    expect(clientStack.upstream.requests.at(-1)?.json).toMatchObject({
      reasoning_effort: 'low',
      max_tokens: 4_096,
    });
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see.', signature: expect.stringMatching(/./) },
      { type: 'text', text: '42' },
    ]);
    const messages = [...hello, { role: 'assistant' as const, content: first.content }, ...hello];
    await client.messages.create({ ...ask, messages });
    const { messages: sent } = (clientStack.upstream.requests.at(-1)?.json ?? {}) as { messages?: object[] };
    expect(sent?.[1]).toEqual({
      role: 'assistant',
      content: '42',
      reasoning_content: 'Let me see.',
      reasoning_details: [DETAIL],
    });
    const plain = await client.messages.create({ model: 'acme/thinks', max_tokens: 64, messages: hello });
    expect(plain.content).toEqual([{ type: 'text', text: '42' }]);
  });

  it('leaves the effort out for a model that has none', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 2_048 };
    await client.messages.create({ model: 'acme/chat-1', max_tokens: 4_096, thinking, messages: hello });
    expect(clientStack.upstream.requests.at(-1)?.json).not.toHaveProperty('reasoning_effort');
  });

  it('says that the model refused', async () => {
    const answer = await client.messages.create({ model: 'acme/refuses', max_tokens: 64, messages: hello });
    expect(answer).toMatchObject({ content: [], stop_reason: 'refusal' });
  });
});

describe('beta.messages.toolRunner', () => {
  it('runs the tools without a thread, which its first request asks for', async () => {
    const inputSchema = z.object({ location: z.string() });
    const run = async ({ location }: z.infer<typeof inputSchema>) => `Sunny in ${location}`;
    const runnable = betaZodTool({ ...weatherTool, inputSchema, run });
    const ask = { model: 'local/chat', max_tokens: 256, messages: [question], tools: [runnable] };
    const answer = await client.beta.messages.toolRunner(ask);
    expect(answer.content).toMatchObject([
      { type: 'text', text: expect.stringContaining('Sunny in Boston') },
    ]);
  });
});

describe('messages.stream', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'Count to 5', '1, 2, 3, 4, 5'],
  ])(
    '%s: gives the text in pieces, and the whole message with its exact cost',
    async (model, content, text) => {
      const stream = client.messages.stream({ model, max_tokens: 64, messages: [{ role: 'user', content }] });
      const pieces: string[] = [];
      // The helper assembles Anthropic's own counts; the cost is in the event.
      let usage: unknown;
      stream.on('text', (piece) => pieces.push(piece));
      stream.on('streamEvent', (event) => {
        if (event.type === 'message_delta') usage = event.usage;
      });
      const message = await stream.finalMessage();
      expect(pieces.join('')).toBe(text);
      expect(pieces.length).toBeGreaterThan(3);
      expect(message).toMatchObject({ model, content: [{ type: 'text', text }], stop_reason: 'end_turn' });
      expect(message.usage.input_tokens).toBeGreaterThan(0);
      expect(await bookedFor(stream.request_id)).toEqual(nanosOf(usage));
    },
  );

  it('has the counts of a maker that nests its usage', async () => {
    const stream = client.messages.stream({ model: 'acme/thinks', max_tokens: 64, messages: hello });
    expect((await stream.finalMessage()).usage).toMatchObject({ input_tokens: 19, output_tokens: 10 });
  });

  it('has Anthropic’s events in their order', async () => {
    const types: string[] = [];
    const ask = { model: 'acme/thinks', max_tokens: 4_096, stream: true as const, messages: hello };
    const thinking = { type: 'adaptive' as const };
    for await (const event of await client.messages.create({ ...ask, thinking }))
      types.push('delta' in event && 'type' in event.delta ? event.delta.type : event.type);
    expect(types).toEqual([
      'message_start',
      ...['content_block_start', 'thinking_delta', 'thinking_delta', 'signature_delta', 'content_block_stop'],
      ...['content_block_start', 'text_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ]);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s: streams the arguments of a tool', async (model) => {
    const stream = client.messages.stream({
      model,
      max_tokens: 256,
      tools: [weatherTool],
      messages: [question],
    });
    let json = '';
    stream.on('inputJson', (piece) => {
      json += piece;
    });
    const message = await stream.finalMessage();
    expect(JSON.parse(json)).toEqual({ location: 'Boston, MA' });
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content.at(-1)).toMatchObject({ type: 'tool_use', input: { location: 'Boston, MA' } });
  });

  it('says that the model refused', async () => {
    const stream = client.messages.stream({ model: 'acme/refuses', max_tokens: 64, messages: hello });
    expect(await stream.finalMessage()).toMatchObject({ content: [], stop_reason: 'refusal' });
  });

  it.each(['breaks-off', 'cut'])('that fails midway (%s) ends in an error event, for free', async (name) => {
    const stream = client.messages.stream({ model: `acme/${name}`, max_tokens: 64, messages: hello });
    const failed = stream.finalMessage();
    await expect(failed).rejects.toThrow(Anthropic.APIError);
    await expect(failed).rejects.toMatchObject({ type: 'api_error', error: { type: 'error' } });
    expect(await bookedFor(stream.request_id)).toEqual([0n]);
  });
});

describe('an upstream that is Anthropic', () => {
  const said = { type: 'text' as const, text: 'Hi.' };
  const message = {
    ...{ id: 'msg_theirs', type: 'message', role: 'assistant', model: 'claude', content: [said] },
    ...{ stop_reason: 'stop_sequence', stop_sequence: 'END', new_member: 1 },
    usage: {
      input_tokens: 4,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 0,
      output_tokens: 2,
    },
  };
  /** Dollars at the price of acme/claude: 4 tokens in, 100 of a cache, 2 out. */
  const COST = (4 * 150 + 100 * 75 + 2 * 600) / 1e9;
  const ask = {
    model: 'acme/claude',
    max_tokens: 64,
    system: [{ type: 'text' as const, text: 'Rules.', cache_control: { type: 'ephemeral' as const } }],
    messages: hello,
    stop_sequences: ['END'],
  };
  const beta = { headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14,context-1m-2025-08-07' } };

  beforeAll(() => {
    const events = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' },
        usage: message.usage,
      },
      { type: 'message_stop' },
    ];
    clientStack.upstream.on('claude', ({ json }, response) => {
      const stream = json?.stream === true;
      response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
      const text = events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('');
      response.end(stream ? text : JSON.stringify(message));
    });
  });

  it('gets the request untouched, and its answer is passed on with our name and cost', async () => {
    const { data, request_id: id } = await client.messages.create(ask, beta).withResponse();
    expect(data).toEqual({ ...message, model: 'acme/claude', usage: { ...message.usage, cost: COST } });
    const sent = clientStack.upstream.requests.at(-1);
    expect(sent).toMatchObject({ path: '/v1/messages', json: { ...ask, model: 'claude' } });
    expect(sent?.headers).toMatchObject({
      'x-api-key': 'sk-ant-ours',
      'anthropic-beta': 'interleaved-thinking-2025-05-14',
    });
    expect(await bookedFor(id)).toEqual(nanosOf(data.usage));
  });

  it('gets no message that has only the thoughts of another maker', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 2_048 };
    const { content } = await client.messages.create({
      ...{ model: 'acme/thinks', max_tokens: 4_096, thinking, messages: hello },
    });
    const thoughts = content.filter(({ type }) => type === 'thinking');
    expect(thoughts).toHaveLength(1);
    const messages = [...hello, { role: 'assistant' as const, content: thoughts }, ...hello];
    await client.messages.create({ ...ask, messages });
    expect(clientStack.upstream.requests.at(-1)?.json).toMatchObject({ messages: [...hello, ...hello] });
  });

  it('streams its events, with the cost in the last', async () => {
    const stream = client.messages.stream({ ...ask });
    let usage: unknown;
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_delta') usage = event.usage;
    });
    expect(await stream.finalMessage()).toMatchObject({
      id: 'msg_theirs',
      model: 'acme/claude',
      content: [said],
    });
    expect(costOf(usage)).toBe(COST);
    expect(await bookedFor(stream.request_id)).toEqual(nanosOf(usage));
  });
});

describe('messages.countTokens', () => {
  it('estimates the tokens of a conversation, for free', async () => {
    const short = await client.messages.countTokens({ model: 'acme/chat-1', messages: hello });
    const long = await client.messages.countTokens({
      model: 'acme/chat-1',
      system: 'Be brief. '.repeat(100),
      tools: [weatherTool],
      messages: hello,
    });
    expect(short.input_tokens).toBeGreaterThan(0);
    expect(long.input_tokens).toBeGreaterThan(short.input_tokens + 200);
    const before = clientStack.upstream.requests.length;
    const { response } = await client.messages
      .countTokens({ model: 'acme/chat-1', messages: hello })
      .withResponse();
    expect(clientStack.upstream.requests.length).toBe(before);
    expect(response.headers.has('x-service-cost')).toBe(false);
  });

  it('refuses an unknown model and one of another type', async () => {
    const count = (model: string) => client.messages.countTokens({ model, messages: hello });
    await expect(count('acme/none')).rejects.toThrow(Anthropic.NotFoundError);
    await expect(count('acme/embed-1')).rejects.toThrow(Anthropic.BadRequestError);
  });
});

describe('models', () => {
  it('are listed with the key in x-api-key', async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toContain('acme/chat-1');
  });
});

describe('errors are the client’s own classes, in Anthropic’s shape', () => {
  const ask = (fields: object, by = client) =>
    by.messages.create({ model: 'acme/chat-1', max_tokens: 64, messages: hello, ...fields } as never);

  it.each([
    [429, Anthropic.RateLimitError, 'rate_limit_error', FAILING[429]],
    [502, Anthropic.InternalServerError, 'api_error', FAILING[500]],
    [404, Anthropic.NotFoundError, 'not_found_error', 'acme/none'],
    [400, Anthropic.BadRequestError, 'invalid_request_error', 'acme/embed-1'],
  ])('%d', async (status, kind, type, model) => {
    const failed = ask({ model });
    await expect(failed).rejects.toThrow(kind);
    await expect(failed).rejects.toMatchObject({
      status,
      type,
      requestID: expect.stringMatching(/^req_/),
      error: { type: 'error', error: { type }, request_id: expect.stringMatching(/^req_/) },
    });
  });

  it('401 for a wrong key, in x-api-key and as Bearer', async () => {
    const wrong = { baseURL: clientStack.stack.url, maxRetries: 0 };
    const key = new Anthropic({ ...wrong, apiKey: 'sk-ant-wrong' });
    await expect(ask({}, key)).rejects.toThrow(Anthropic.AuthenticationError);
    const bearer = new Anthropic({ ...wrong, apiKey: null, authToken: 'wrong' });
    await expect(ask({}, bearer)).rejects.toThrow(Anthropic.AuthenticationError);
  });

  it('400 names a field that is not supported', async () => {
    const hosted = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
    await expect(ask(hosted)).rejects.toMatchObject({
      status: 400,
      error: { error: { param: 'tools.0.type' } },
    });
    const unknown = ask({ container: 'container_1' });
    await expect(unknown).rejects.toMatchObject({ status: 400, error: { error: { param: 'container' } } });
  });
});

describe('@ai-sdk/anthropic', () => {
  const anthropic = () => createAnthropic({ baseURL: clientStack.baseURL, apiKey: clientStack.key });
  const weather = tool({
    description: 'Get the current weather in a given location',
    inputSchema: z.object({ location: z.string().describe('The city and state, e.g. San Francisco, CA') }),
    execute: async () => ({ temperature: 21, unit: 'celsius' }),
  });
  const withTool = {
    prompt: question.content,
    tools: { get_current_weather: weather },
    stopWhen: isStepCount(3),
    maxRetries: 0,
  };

  it.each(['acme/chat-1', 'local/chat'])('%s: generateText calls a tool, and answers', async (model) => {
    const result = await generateText({ model: anthropic()(model), ...withTool });
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(result.text.length).toBeGreaterThan(10);
    for (const step of result.steps) expect(costOf(step.usage.raw)).toBeGreaterThan(0);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s: streamText calls a tool, and answers', async (model) => {
    const result = streamText({ model: anthropic()(model), ...withTool });
    await result.consumeStream();
    expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect((await result.text).length).toBeGreaterThan(10);
    expect((await result.usage).inputTokens).toBeGreaterThan(0);
  });

  it('streams thinking', async () => {
    const providerOptions = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_048 } } };
    const result = streamText({
      model: anthropic()('acme/thinks'),
      prompt: 'Hello!',
      providerOptions,
      maxRetries: 0,
    });
    expect(await result.reasoningText).toBe('Let me see.');
    expect(await result.text).toBe('42');
  });
});
