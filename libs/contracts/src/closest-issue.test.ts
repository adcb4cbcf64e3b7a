import { expect, test } from 'vitest';
import { z } from 'zod';
import { chatCompletionRequest, completionRequest, embeddingsRequest, fromZodError } from './index.ts';

const chat = { model: 'local/chat', messages: [{ role: 'user', content: 'hi' }] };
const saying = (content: unknown) => ({ ...chat, messages: [{ role: 'user', content }] });
const toolRequest = z.object({
  choice: z.union([z.enum(['none', 'auto']), z.object({ type: z.literal('function'), name: z.string() })]),
});
const nested = z.object({ of: z.union([z.boolean(), z.union([z.string(), z.null()])]) });
const embed = (input: unknown) => ({ model: 'local/embed', input });

test.each([
  [
    chatCompletionRequest,
    { ...chat, stop: Array(17).fill('a') },
    'stop',
    'must have 0 to 16 elements, and has 17',
  ],
  [
    chatCompletionRequest,
    saying(Array(2_001).fill({ type: 'text' })),
    'messages.0.content',
    'must have 0 to 2000 elements',
  ],
  [chatCompletionRequest, saying([{ type: 'text' }, {}]), 'messages.0.content.1.type', 'expected string'],
  [
    completionRequest,
    { model: 'local/chat', prompt: ['a', 'b'] },
    'prompt',
    'must have 1 to 1 elements, and has 2',
  ],
  [embeddingsRequest, embed(Array(2_049).fill('a')), 'input', 'must have 1 to 2048 elements, and has 2049'],
  [embeddingsRequest, embed([]), 'input', 'must have 1 to 2048 elements, and has 0'],
  [embeddingsRequest, embed(['a', '']), 'input.1', 'expected string to have >=1 characters'],
  [embeddingsRequest, embed([[1], [-1]]), 'input.1.0', 'expected number to be >=0'],
  [embeddingsRequest, embed(5), 'input', 'expected string or array, received number'],
  [embeddingsRequest, { model: 'local/embed' }, 'input', 'expected string or array, received undefined'],
  [embeddingsRequest, embed([1.5]), 'input.0', 'expected string or int or array, received number'],
  [
    chatCompletionRequest,
    saying(5),
    'messages.0.content',
    'expected string or array or null, received number',
  ],
  [nested, { of: 1 }, 'of', 'expected boolean or string or null, received number'],
  [toolRequest, { choice: 'all' }, 'choice', 'expected one of "none"|"auto"'],
  [toolRequest, { choice: { type: 'function' } }, 'choice.name', 'expected string'],
])(
  'a wrong value of several possible types is refused with its own limit: %#',
  (schema, body, param, message) => {
    const parsed = schema.safeParse(body);
    expect(parsed.error).toBeDefined();
    const error = fromZodError(parsed.error as NonNullable<typeof parsed.error>);
    expect(error).toMatchObject({
      code: 'invalid_request',
      param,
      message: expect.stringContaining(message),
    });
  },
);
