// Vercel's AI SDK through `@ai-sdk/openai-compatible`, unchanged, against upstream-backed and local models.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  embed,
  embedMany,
  generateImage,
  generateObject,
  generateText,
  isStepCount,
  Output,
  streamText,
  tool,
} from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClientStack, chatCost, costOf, startClientStack } from './client-stack.ts';

let clientStack: ClientStack;
let provider: ReturnType<typeof createOpenAICompatible>;
/** Without `supportsStructuredOutputs`, as by default: it asks for a JSON object, without the schema. */
let plainProvider: ReturnType<typeof createOpenAICompatible>;

beforeAll(async () => {
  clientStack = await startClientStack();
  const settings = {
    name: 'switchyard',
    baseURL: clientStack.baseURL,
    apiKey: clientStack.key,
    includeUsage: true,
  };
  provider = createOpenAICompatible({ ...settings, supportsStructuredOutputs: true });
  plainProvider = createOpenAICompatible(settings);
});
afterAll(() => clientStack?.stop());

const HELLO_ANSWER = 'Hello! How can I assist you today?';
const bodyWithUsage = z.looseObject({ usage: z.unknown() });

const weather = (asked: unknown[]) =>
  tool({
    description: 'Get the current weather in a given location',
    inputSchema: z.object({ location: z.string().describe('The city and state, e.g. San Francisco, CA') }),
    execute: async (input) => {
      asked.push(input);
      return { temperature: 21, unit: 'celsius' };
    },
  });

describe('generateText', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'What is 6*7?', '6*7 = 42'],
  ])('%s answers, with tokens and cost', async (model, prompt, text) => {
    const result = await generateText({ model: provider(model), prompt, maxRetries: 0 });
    expect(result.text).toBe(text);
    expect(result.finishReason).toBe('stop');
    expect(result.usage.inputTokens).toBeGreaterThan(0);
    const cost = costOf(result.usage.raw);
    if (model === 'acme/chat-1') expect(cost).toBeCloseTo(chatCost(19, 10), 12);
    else expect(cost).toBeGreaterThan(0);
  });

  it.each([
    ['acme/chat-1', HELLO_ANSWER],
    ['local/chat', 'get_current_weather says: temperature: 21; unit: celsius'],
  ])('%s calls a tool and answers with its result', async (model, text) => {
    const asked: unknown[] = [];
    const result = await generateText({
      model: provider(model),
      prompt: 'What is the weather like in Boston, MA?',
      tools: { get_current_weather: weather(asked) },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    });
    expect(asked).toEqual([{ location: 'Boston, MA' }]);
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(result.text).toBe(text);
    for (const step of result.steps) expect(costOf(step.usage.raw)).toBeGreaterThan(0);
  });
});

describe('streamText', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'Count to 5', '1, 2, 3, 4, 5'],
  ])('%s comes in pieces, with tokens and cost at the end', async (model, prompt, text) => {
    const result = streamText({ model: provider(model), prompt, maxRetries: 0 });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(3);
    expect(await result.finishReason).toBe('stop');
    const usage = await result.usage;
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(costOf(usage.raw)).toBeGreaterThan(0);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s streams a tool call and goes on after it', async (model) => {
    const asked: unknown[] = [];
    const result = streamText({
      model: provider(model),
      prompt: 'What is the weather like in Boston, MA?',
      tools: { get_current_weather: weather(asked) },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    });
    await result.consumeStream();
    expect(asked).toEqual([{ location: 'Boston, MA' }]);
    expect((await result.text).length).toBeGreaterThan(10);
  });
});

describe('objects', () => {
  const schema = z.object({ name: z.string(), date: z.string(), participants: z.array(z.string()) });
  const event = { name: 'Science Fair', date: 'Friday', participants: ['Alice', 'Bob'] };
  const prompt = 'name: Science Fair, date: Friday. Participants: Alice and Bob.';

  it.each(['acme/chat-1', 'local/chat'])('%s: generateObject', async (model) => {
    const result = await generateObject({ model: provider(model), schema, prompt, maxRetries: 0 });
    expect(result.object).toEqual(event);
    expect(costOf(result.usage.raw)).toBeGreaterThan(0);
  });

  it('local/chat: generateObject, where the prompt must state the schema', async () => {
    const told = `${prompt}\nAnswer in JSON of this schema: ${JSON.stringify(z.toJSONSchema(schema))}`;
    const { object } = await generateObject({
      model: plainProvider('local/chat'),
      schema,
      prompt: told,
      maxRetries: 0,
    });
    expect(object).toEqual(event);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s: generateText with Output.object', async (model) => {
    const { output } = await generateText({
      model: provider(model),
      output: Output.object({ schema }),
      prompt,
      maxRetries: 0,
    });
    expect(output).toEqual(event);
  });
});

describe('embed and embedMany', () => {
  it('give the upstream’s vectors', async () => {
    const { embedding, usage } = await embed({
      model: provider.embeddingModel('acme/embed-1'),
      value: 'one',
    });
    expect(embedding).toEqual([0.0023064255, -0.009327292, -0.0028842222]);
    expect(usage.tokens).toBe(8);
  });

  it('place similar local texts together', async () => {
    const { embeddings, responses } = await embedMany({
      model: provider.embeddingModel('local/embed'),
      values: ['heavy rain and strong wind', 'a strong wind with rain', 'bake the bread in an oven'],
    });
    const [rain, wind, bread] = embeddings;
    expect(cosine(rain, wind)).toBeGreaterThan(cosine(rain, bread) + 0.2);
    expect(costOf(bodyWithUsage.parse(responses?.[0]?.body).usage)).toBeGreaterThan(0);
  });
});

describe('generateImage', () => {
  it('draws with the OpenAI-compatible provider', async () => {
    const { images } = await generateImage({
      model: provider.imageModel('local/image'),
      prompt: 'a blue star',
      n: 2,
      size: '256x256',
    });
    expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'image/png']);
  });
});

describe('errors', () => {
  it('are APICallErrors with our status, code and message', async () => {
    const error = await generateText({ model: provider('acme/nonesuch'), prompt: 'x', maxRetries: 0 }).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!APICallError.isInstance(error))
      throw new Error('it did not fail with an APICallError', { cause: error });
    expect(error.statusCode).toBe(404);
    expect(error.message).toContain('acme/nonesuch');
    expect(error.isRetryable).toBe(false);
  });
});

function cosine(a: readonly number[] = [], b: readonly number[] = []): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
