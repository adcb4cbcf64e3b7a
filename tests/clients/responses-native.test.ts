// OpenAI's Responses to a model of OpenAI itself, whose bytes pass through: the official `openai` and `@openai/agents`,
// unchanged, with OpenAI's recorded answers behind the stack. Every answer's cost is compared with the ledger.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, tool as agentTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClientStack, costOf, FAILING, startClientStack } from './client-stack.ts';
import { expectExactBill, type RecordedCall, recordingFetch } from './recorded-calls.ts';

const FIXTURES = join(import.meta.dirname, '../../services/model-router/src/makers/openai/__fixtures__');
const MODEL = 'acme/gpt';
const QUESTION = 'What is 12 + 7?';
const add: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  strict: false,
};

type Response = OpenAI.Responses.Response;
interface Recorded {
  json: Response;
  events: OpenAI.Responses.ResponseStreamEvent[];
}
const recorded = (name: string) =>
  JSON.parse(readFileSync(join(FIXTURES, `responses-${name}.json`), 'utf8')) as Recorded;
const { json: text } = recorded('text');
const { events } = recorded('stream');
const called = (events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response;

const SAID = '12 + 7 = 19\n19 × 3 = 57';

let clientStack: ClientStack;
let client: OpenAI;
const calls: RecordedCall[] = [];

beforeAll(async () => {
  clientStack = await startClientStack({ OPENAI_API_KEY: 'sk-ours' });
  client = new OpenAI({
    baseURL: clientStack.baseURL,
    apiKey: clientStack.key,
    fetch: recordingFetch(calls),
    maxRetries: 0,
  });
  setTracingDisabled(true);
  clientStack.upstream.on('gpt', ({ json }, response) => {
    const answer = answerTo(json as Asked);
    response.setHeader('content-type', json?.stream ? 'text/event-stream' : 'application/json');
    response.end(json?.stream ? streamOf(answer) : JSON.stringify(answer));
  });
});
afterAll(() => clientStack?.stop());

type Asked = OpenAI.Responses.ResponseCreateParams;

/** A call of the tool, and a text after its output; an object of the schema; or a call of the custom tool. */
function answerTo({ input, tools, text: form }: Asked): Response {
  if (tools?.some(({ type }) => type === 'custom')) return patched;
  const isAnswered = Array.isArray(input) && input.some(({ type }) => type === 'function_call_output');
  if (tools && !isAnswered) return called;
  if (form?.format?.type !== 'json_schema') return text;
  const content = [{ type: 'output_text', text: '{"sum":19}', annotations: [] }];
  return { ...text, output: [{ ...text.output.at(-1), content }] } as Response;
}

function streamOf(answer: Response): string {
  if (answer === called) return inEvents(events);
  if (answer === patched) return patchStream;
  const started = { ...answer, status: 'in_progress', output: [], usage: null };
  const at = { item_id: text.output.at(-1)?.id, output_index: 0, content_index: 0 };
  const message = { ...text.output.at(-1), status: 'in_progress', content: [] };
  const part = { type: 'output_text', text: '', annotations: [] };
  return inEvents([
    { type: 'response.created', sequence_number: 0, response: started },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: message },
    { type: 'response.content_part.added', sequence_number: 2, ...at, part },
    { type: 'response.output_text.delta', sequence_number: 3, ...at, delta: SAID, logprobs: [] },
    { type: 'response.completed', sequence_number: 4, response: answer },
  ]);
}

const inEvents = (list: readonly object[]) =>
  (list as { type: string }[])
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

/** A tool whose input is text, as Codex has. */
const patch: OpenAI.Responses.CustomTool = {
  ...{ type: 'custom', name: 'apply_patch', description: 'Edits files.' },
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' },
};
const patchCall = {
  ...{ type: 'custom_tool_call' as const, id: 'ctc_1', status: 'completed', call_id: 'call_9' },
  ...{ name: 'apply_patch', input: '*** Begin Patch' },
};
const at = { item_id: patchCall.id, output_index: 0 };
const patched = { ...text, output: [patchCall] } as Response;
const patchStream = inEvents([
  { type: 'response.created', sequence_number: 0, response: { ...patched, output: [], usage: null } },
  {
    type: 'response.output_item.added',
    sequence_number: 1,
    output_index: 0,
    item: { ...patchCall, input: '' },
  },
  { type: 'response.custom_tool_call_input.delta', sequence_number: 2, ...at, delta: patchCall.input },
  { type: 'response.custom_tool_call_input.done', sequence_number: 3, ...at, input: patchCall.input },
  { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: patchCall },
  { type: 'response.completed', sequence_number: 5, response: patched },
]);

const sent = () => clientStack.upstream.requests.at(-1);
/** Dollars at the price of acme/gpt. */
const dollars = ({ usage }: Response) => {
  const { input_tokens: input = 0, output_tokens: output = 0, input_tokens_details: details } = usage ?? {};
  const cached = details?.cached_tokens ?? 0;
  return ((input - cached) * 150 + cached * 75 + output * 600) / 1e9;
};
/** A recorded answer as a caller gets it. */
const ours = (response: Response) => ({
  ...response,
  model: MODEL,
  usage: { ...response.usage, cost: dollars(response) },
});

it('an answer is OpenAI’s, with our name and the cost; the request is untouched but not stored', async () => {
  const ask = {
    instructions: 'Be brief.',
    input: [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: QUESTION }] }],
    reasoning: { effort: 'high' as const, summary: 'detailed' as const },
    prompt_cache_key: 'thread-1',
    metadata: { of: 'a test' },
    truncation: 'disabled' as const,
  };
  const { data, response } = await client.responses
    .create({ model: MODEL, ...ask, store: true })
    .withResponse();
  const { output_text: said, _request_id: _, ...answer } = data as Response & { _request_id?: string };
  expect(answer).toEqual(ours(text));
  expect(said).toContain('12 + 7 = 19');
  expect(data).toMatchObject({ store: false });
  expect(Number(response.headers.get('x-service-cost'))).toBe(dollars(text));
  expect(sent()).toMatchObject({ path: '/v1/responses', headers: { authorization: 'Bearer sk-ours' } });
  expect(sent()?.json).toEqual({
    ...ask,
    model: 'gpt',
    store: false,
    include: ['reasoning.encrypted_content'],
  });
});

it('a stream has OpenAI’s events, with our name and the cost in the last', async () => {
  const ask = { model: MODEL, input: QUESTION, tools: [add], stream: true as const };
  const read: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create(ask)) read.push(event);
  const expected = events.map((event) =>
    'response' in event ? { ...event, response: { ...event.response, model: MODEL } } : event,
  );
  expect(read).toEqual([...expected.slice(0, -1), { ...expected.at(-1), response: ours(called) }]);
  expect(sent()?.json).toMatchObject({ input: QUESTION, tools: [add], stream: true, store: false });
});

it.each([false, true])(
  'a tool is called, and its reasoning goes back as it came; streamed: %s',
  async (stream) => {
    const ask = { model: MODEL, tools: [add] };
    const create = (input: OpenAI.Responses.ResponseInput) =>
      stream
        ? client.responses.stream({ ...ask, input }).finalResponse()
        : client.responses.create({ ...ask, input });
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: QUESTION }];
    const first = await create(input);
    const [reasoning, call] = first.output;
    expect(reasoning).toMatchObject({ encrypted_content: expect.stringMatching(/^gAAAA/) });
    expect(call).toMatchObject({ type: 'function_call', name: 'add', arguments: '{"a":12,"b":7}' });
    const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall;
    input.push(...(called.output as OpenAI.Responses.ResponseInput));
    input.push({ type: 'function_call_output', call_id, output: '19' });
    const second = await create(input);
    expect(second.output_text).toContain('12 + 7 = 19');
    expect(costOf(second.usage)).toBe(dollars(text));
    expect(sent()?.json?.input).toEqual(input);
  },
);

describe('a custom tool, as Codex has', () => {
  const input = [
    { role: 'user' as const, content: QUESTION },
    patchCall,
    { type: 'custom_tool_call_output' as const, call_id: 'call_9', output: 'Done' },
  ];

  it.each([false, true])('passes to OpenAI and back, with its output; streamed: %s', async (stream) => {
    const ask = { model: MODEL, input, tools: [patch] };
    const { output, usage } = stream
      ? await client.responses.stream(ask).finalResponse()
      : await client.responses.create(ask);
    expect(output).toMatchObject([patchCall]);
    expect(costOf(usage)).toBe(dollars(text));
    expect(sent()?.json).toMatchObject({ input, tools: [patch] });
  });

  it('is refused by a model of another maker, which is skipped as a fallback', async () => {
    const before = clientStack.upstream.requests.length;
    const create = (body: object) => client.responses.create(body as never);
    for (const [param, body] of [
      ['tools.0.type', { input: QUESTION, tools: [patch] }],
      ['input.1.type', { input }],
    ] as const)
      await expect(create({ model: 'acme/chat-1', models: [MODEL], ...body })).rejects.toMatchObject({
        ...{ status: 400, code: 'invalid_request', param },
        message: expect.stringContaining('Only OpenAI’s own models'),
      });
    expect(clientStack.upstream.requests.length).toBe(before);
    clientStack.upstream.on('gpt-fails', (_, response) => void response.writeHead(500).end());
    const failed = create({ model: 'acme/gpt-fails', models: ['acme/chat-1'], input, tools: [patch] });
    await expect(failed).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
    expect(clientStack.upstream.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/responses']);
  });
});

it('another maker’s function call goes to OpenAI without the members that OpenAI has not', async () => {
  const call = { type: 'function_call' as const, call_id: 'call_1', name: 'add', arguments: '{}' };
  const output = { type: 'function_call_output' as const, call_id: 'call_1', output: '19' };
  const input = [{ ...call, extra_content: { google: { thought_signature: 'abc' } } }, output];
  await client.responses.create({ model: MODEL, input });
  expect(sent()?.json?.input).toEqual([call, output]);
});

it('parse fills a schema', async () => {
  const format = zodTextFormat(z.object({ sum: z.number() }), 'sum');
  const response = await client.responses.parse({ model: MODEL, input: QUESTION, text: { format } });
  expect(response.output_parsed).toEqual({ sum: 19 });
  expect(sent()?.json?.text).toEqual({ format: JSON.parse(JSON.stringify(format)) });
});

describe('fallback', () => {
  it('to and from a model whose upstream does not speak Responses', async () => {
    const to = await client.responses.create({
      model: FAILING[500],
      models: [MODEL],
      input: QUESTION,
    } as never);
    expect(to).toMatchObject({ id: text.id, model: MODEL });
    clientStack.upstream.on('gpt-fails', (_, response) => void response.writeHead(500).end());
    const body = { model: 'acme/gpt-fails', models: ['acme/chat-1'], input: 'Hello!' };
    const from = await client.responses.create(body as never);
    expect(from).toMatchObject({ model: 'acme/chat-1', output_text: 'Hello! How can I assist you today?' });
    expect(sent()?.path).toBe('/v1/chat/completions');
  });

  it.each([
    ['failed-limit', OpenAI.RateLimitError],
    ['failed-server', OpenAI.InternalServerError],
    ['failed-prompt', OpenAI.BadRequestError],
    ['error-stream', OpenAI.InternalServerError],
  ])('without one, a stream that fails before its content is an error: %s', async (name, kind) => {
    clientStack.upstream.on('gpt-fails', (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(inEvents(recorded(name).events));
    });
    const failed = client.responses.create({ model: 'acme/gpt-fails', input: QUESTION, stream: true });
    await expect(failed).rejects.toBeInstanceOf(kind);
  });
});

it.each<[string, object]>([
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['tools.0.type', { tools: [{ type: 'web_search' }] }],
  ['input.0', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ['service_tier', { service_tier: 'priority' }],
])('refuses what would be stored, hosted or priced otherwise: %s', async (param, body) => {
  const before = clientStack.upstream.requests.length;
  const failed = client.responses.create({ model: MODEL, input: QUESTION, ...body } as never);
  await expect(failed).rejects.toMatchObject({ status: 400, code: 'invalid_request', param });
  expect(clientStack.upstream.requests.length).toBe(before);
});

it('@openai/agents calls its tool and answers, whole and streamed', async () => {
  const asked: unknown[] = [];
  const agent = new Agent({
    name: 'Calculator',
    instructions: 'Answer with the tool.',
    model: new OpenAIResponsesModel(client, MODEL),
    tools: [
      agentTool({
        name: 'add',
        description: 'Adds two numbers.',
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async (numbers) => {
          asked.push(numbers);
          return numbers.a + numbers.b;
        },
      }),
    ],
  });
  expect((await run(agent, QUESTION)).finalOutput).toContain('12 + 7 = 19');
  const [reasoning] = called.output as OpenAI.Responses.ResponseReasoningItem[];
  expect(sent()?.json?.input).toContainEqual(
    expect.objectContaining({ type: 'reasoning', encrypted_content: reasoning?.encrypted_content }),
  );
  const streamed = await run(agent, QUESTION, { stream: true });
  await streamed.completed;
  expect(streamed.finalOutput).toContain('12 + 7 = 19');
  expect(asked).toEqual([
    { a: 12, b: 7 },
    { a: 12, b: 7 },
  ]);
});

it('every answer above is billed once, at the cost that it states', async () => {
  expect(calls.length).toBeGreaterThan(12);
  await expectExactBill(clientStack.stack, calls, 'responses');
});
