// OpenAI's Responses through the clients that speak it by default, unchanged: `openai`, `@openai/agents` and
// `@ai-sdk/openai`. Every answer's cost is compared with the ledger.
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, tool as agentTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { APICallError, generateText, isStepCount, Output, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClientStack, chatCost, costOf, FAILING, startClientStack } from './client-stack.ts';
import { expectExactBill, type RecordedCall, recordingFetch } from './recorded-calls.ts';

let clientStack: ClientStack;
let client: OpenAI;
let provider: ReturnType<typeof createOpenAI>;
const calls: RecordedCall[] = [];

beforeAll(async () => {
  clientStack = await startClientStack();
  const settings = { baseURL: clientStack.baseURL, apiKey: clientStack.key, fetch: recordingFetch(calls) };
  client = new OpenAI({ ...settings, maxRetries: 0 });
  provider = createOpenAI(settings);
  setTracingDisabled(true);
});
afterAll(() => clientStack?.stop());

const HELLO_ANSWER = 'Hello! How can I assist you today?';
const WEATHER_QUESTION = 'What is the weather like in Boston, MA?';
const LOCAL_WEATHER = 'get_current_weather says: temperature: 21; unit: celsius';
/** What each model says after it has called the tool. */
const ANSWERS = [
  ['acme/chat-1', HELLO_ANSWER],
  ['local/chat', LOCAL_WEATHER],
] as const;
const description = 'Get the current weather in a given location';
const location = z.object({ location: z.string().describe('The city and state, e.g. San Francisco, CA') });
/** The tool: it records in `asked` what it was called with. */
const forecast = (asked: unknown[]) => async (input: unknown) => {
  asked.push(input);
  return { temperature: 21, unit: 'celsius' };
};
const weatherTool: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_current_weather',
  description,
  strict: false,
  parameters: {
    type: 'object',
    properties: { location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' } },
    required: ['location'],
  },
};
const event = z.object({ name: z.string(), date: z.string(), participants: z.array(z.string()) });
const SCIENCE_FAIR = { name: 'Science Fair', date: 'Friday', participants: ['Alice', 'Bob'] };
const sentToUpstream = () => clientStack.upstream.requests.at(-1)?.json;

describe('responses.create', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'What is 6*7?', '6*7 = 42'],
  ])('%s: gives the text, with tokens and cost', async (model, input, text) => {
    const response = await client.responses.create({ model, input, store: true, metadata: { of: 'a test' } });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model, store: false });
    expect(response.metadata).toEqual({ of: 'a test' });
    expect(response.output_text).toBe(text);
    if (model === 'acme/chat-1') expect(costOf(response.usage)).toBeCloseTo(chatCost(19, 10), 12);
    expect(response.usage?.input_tokens_details.cached_tokens).toBe(0);
    expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(0);
  });

  it('sends instructions, images, files and limits to the upstream as chat', async () => {
    const image = 'data:image/png;base64,iVBORw0KGgo=';
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };
    const response = await client.responses.create({
      model: 'acme/chat-1',
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'Hello!' },
        { role: 'assistant', content: 'Hello.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is in this image?' },
            { type: 'input_image', image_url: image, detail: 'low' },
            { type: 'input_file', ...file },
          ],
        },
      ],
      max_output_tokens: 500,
      temperature: 0.5,
      reasoning: { effort: 'low' },
      truncation: 'disabled',
    });
    expect(response.output_text).toContain('boardwalk');
    expect(sentToUpstream()).toEqual({
      model: 'gpt-4o-mini',
      temperature: 0.5,
      max_tokens: 500,
      reasoning_effort: 'low',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hello!' },
        { role: 'assistant', content: 'Hello.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is in this image?' },
            { type: 'image_url', image_url: { url: image, detail: 'low' } },
            { type: 'file', file },
          ],
        },
      ],
    });
  });

  it.each(ANSWERS)('%s: calls a function, and answers its output', async (model, text) => {
    const asked = { model, tools: [weatherTool], parallel_tool_calls: true };
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: WEATHER_QUESTION }];
    const first = await client.responses.create({ ...asked, input });
    const [call] = first.output.filter((item) => item.type === 'function_call');
    expect(call).toMatchObject({ name: 'get_current_weather', status: 'completed' });
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ location: 'Boston, MA' });
    const output = JSON.stringify({ temperature: 21, unit: 'celsius' });
    input.push(...(first.output as OpenAI.Responses.ResponseInput), {
      type: 'function_call_output',
      call_id: call?.call_id ?? '',
      output,
    });
    const second = await client.responses.create({ ...asked, input });
    expect(second.output_text).toBe(text);
  });

  it('takes a file of 3 MB', async () => {
    const file_data = `data:application/pdf;base64,${'A'.repeat(3 * 1024 * 1024)}`;
    const input = [
      { role: 'user' as const, content: [{ type: 'input_file' as const, filename: 'a.pdf', file_data }] },
    ];
    const response = await client.responses.create({ model: 'acme/chat-1', input });
    expect(response.output_text).toBe(HELLO_ANSWER);
    expect(sentToUpstream()?.messages).toEqual([
      { role: 'user', content: [{ type: 'file', file: { file_data, filename: 'a.pdf' } }] },
    ]);
  });

  it('takes what Codex sends beside the conversation, and shows a function by its namespace', async () => {
    const body = {
      store: false,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { summary: 'auto' as const },
      prompt_cache_key: 'thread-1',
      client_metadata: { 'x-codex-turn-metadata': '{}' },
      tools: [{ type: 'namespace' as const, name: 'weather', description, tools: [weatherTool] }],
      input: [
        { type: 'message' as const, id: 'msg_1', role: 'developer' as const, content: 'Use the tools.' },
        { type: 'message' as const, id: 'msg_2', role: 'user' as const, content: WEATHER_QUESTION },
      ],
    };
    const response = await client.responses.create({ model: 'local/chat', ...body } as never);
    expect((response as OpenAI.Responses.Response).output).toMatchObject([
      { type: 'function_call', name: 'get_current_weather', namespace: 'weather' },
    ]);
  });

  it('falls back to the next model of `models`', async () => {
    const body = { model: FAILING[500], models: ['local/chat'], input: 'Hello!' };
    const response = await client.responses.create(body);
    expect(response.model).toBe('local/chat');
    expect(response.output_text).toContain('Hello!');
  });

  it.each<[string, object]>([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['truncation', { truncation: 'auto' }],
    ['tools.0.type', { tools: [{ type: 'web_search' }] }],
    ['tools.1.type', { tools: [weatherTool, { type: 'mcp', server_label: 'a', server_url: 'b' }] }],
    ['tool_choice.type', { tools: [weatherTool], tool_choice: { type: 'file_search' } }],
    ['input.0', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    [
      'input.1.type',
      {
        input: [
          { role: 'user', content: 'a' },
          { type: 'computer_call', call_id: 'a' },
        ],
      },
    ],
    ['input.0.content.0.type', { input: [{ role: 'user', content: [{ type: 'input_video' }] }] }],
    ['include.0', { include: ['message.output_text.logprobs'] }],
  ])('refuses what it cannot do, naming the field: %s', async (param, body) => {
    const before = clientStack.upstream.requests.length;
    const failed = client.responses.create({ model: 'acme/chat-1', input: 'Hello!', ...body });
    await expect(failed).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(failed).rejects.toMatchObject({ code: 'invalid_request', param });
    expect(clientStack.upstream.requests.length).toBe(before);
  });
});

describe('responses.parse', () => {
  it.each([
    ['acme/chat-1', 'Alice and Bob are going to a science fair on Friday.'],
    ['local/chat', 'name: Science Fair, date: Friday. Participants: Alice and Bob.'],
  ])('%s: fills a zod schema', async (model, input) => {
    const text = { format: zodTextFormat(event, 'event') };
    const response = await client.responses.parse({ model, input, text });
    expect(response.output_parsed).toEqual(SCIENCE_FAIR);
  });
});

describe('streams', () => {
  it('tell each step by a typed event, numbered without a gap, and the cost in the last', async () => {
    const stream = await client.responses.create({ model: 'acme/chat-1', input: 'Hello!', stream: true });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const one of stream) events.push(one);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const deltas = events.filter((one) => one.type === 'response.output_text.delta');
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.map(({ delta }) => delta).join('')).toBe(HELLO_ANSWER);
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const last = events.at(-1);
    expect(last?.type === 'response.completed' && costOf(last.response.usage)).toBeCloseTo(
      chatCost(19, 10),
      12,
    );
  });

  it.each([
    ['acme/chat-1', HELLO_ANSWER],
    ['local/chat', 'Hello! What can I do for you?'],
  ])('%s: the .stream() helper gives text and assembles the whole', async (model, text) => {
    const stream = client.responses.stream({ model, input: 'Hello!' });
    let told = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      told += delta;
    });
    const response = await stream.finalResponse();
    expect(told).toBe(text);
    expect(response.output_text).toBe(text);
    expect(costOf(response.usage)).toBeGreaterThan(0);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s: calls of functions are assembled', async (model) => {
    const asked = { model, input: WEATHER_QUESTION, tools: [weatherTool] };
    const response = await client.responses.stream(asked).finalResponse();
    const [call] = response.output.filter((item) => item.type === 'function_call');
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ location: 'Boston, MA' });
  });

  it('that break throw, and are free', async () => {
    const stream = await client.responses.create({ model: 'acme/breaks-off', input: 'Hello!', stream: true });
    calls.pop(); // it states no cost
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('stop the upstream when the client leaves', async () => {
    const stream = await client.responses.create({ model: 'acme/endless', input: 'Hello!', stream: true });
    calls.pop(); // it is not read to its end
    for await (const _ of stream) break;
    expect(await (await clientStack.upstream.request('endless+gap-20+megabytes-64')).over).toBe('cut');
  });
});

describe('errors are the client’s own classes', () => {
  it('for a wrong key, an unknown model, a model of another type and a limited upstream', async () => {
    const stranger = new OpenAI({ baseURL: clientStack.baseURL, apiKey: 'sy_wrong', maxRetries: 0 });
    const ask = (model: string, by = client) => by.responses.create({ model, input: 'Hello!' });
    await expect(ask('local/chat', stranger)).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(ask('acme/nonesuch')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(ask('acme/embed-1')).rejects.toThrow('POST /v1/embeddings');
    await expect(ask(FAILING[429])).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });
});

describe('@openai/agents', () => {
  const agentOf = (model: string, asked: unknown[]) =>
    new Agent({
      name: 'Forecaster',
      instructions: 'Answer with the tool.',
      model: new OpenAIResponsesModel(client, model),
      tools: [
        agentTool({
          name: 'get_current_weather',
          description,
          parameters: location,
          execute: forecast(asked),
        }),
      ],
    });

  it.each(ANSWERS)('%s: an agent calls its tool and answers, whole and streamed', async (model, text) => {
    const asked: unknown[] = [];
    const whole = await run(agentOf(model, asked), WEATHER_QUESTION);
    expect(whole.finalOutput).toBe(text);
    const streamed = await run(agentOf(model, asked), WEATHER_QUESTION, { stream: true });
    await streamed.completed;
    expect(streamed.finalOutput).toBe(text);
    expect(asked).toEqual([{ location: 'Boston, MA' }, { location: 'Boston, MA' }]);
  });
});

describe('@ai-sdk/openai', () => {
  const weatherCall = (model: string, asked: unknown[]) => ({
    model: provider(model),
    prompt: WEATHER_QUESTION,
    tools: {
      get_current_weather: tool({ description, inputSchema: location, execute: forecast(asked) }),
    },
    stopWhen: isStepCount(3),
    maxRetries: 0,
  });

  it.each(ANSWERS)('%s: generateText calls a tool and answers with its result', async (model, text) => {
    const asked: unknown[] = [];
    const result = await generateText(weatherCall(model, asked));
    expect(asked).toEqual([{ location: 'Boston, MA' }]);
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(result.text).toBe(text);
    for (const step of result.steps) expect(costOf(step.usage.raw)).toBeGreaterThan(0);
  });

  it.each(ANSWERS)('%s: streamText streams text, and calls a tool', async (model, text) => {
    const asked: unknown[] = [];
    const result = streamText(weatherCall(model, asked));
    let told = '';
    for await (const piece of result.textStream) told += piece;
    expect(told).toBe(text);
    expect(asked).toEqual([{ location: 'Boston, MA' }]);
    for (const step of await result.steps) expect(costOf(step.usage.raw)).toBeGreaterThan(0);
  });

  it('generates an object of a schema', async () => {
    const result = await generateText({
      model: provider('acme/chat-1'),
      prompt: 'Alice and Bob are going to a science fair on Friday.',
      output: Output.object({ schema: event }),
    });
    expect(result.output).toEqual(SCIENCE_FAIR);
  });

  it('throws its own error for an upstream that fails', async () => {
    const failed = generateText({ model: provider(FAILING[500]), prompt: 'Hello!', maxRetries: 0 });
    await expect(failed).rejects.toBeInstanceOf(APICallError);
    await expect(failed).rejects.toMatchObject({ statusCode: 502 });
  });
});

it('every answer above is billed once, at the cost that it states', async () => {
  expect(calls.length).toBeGreaterThan(20);
  await expectExactBill(clientStack.stack, calls, 'responses');
});
