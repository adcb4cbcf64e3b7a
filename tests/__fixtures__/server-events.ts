// Server-sent events as they come: each named by its type, its data JSON of a known shape, comments left out.
import { expect } from 'vitest';
import type { z } from 'zod';

export async function* serverEvents<S extends z.ZodType<{ type: string }>>(
  response: Response,
  shape: S,
): AsyncGenerator<z.infer<S>, void, undefined> {
  if (!response.body) throw new Error('an answer without a body');
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks.filter((one) => !one.startsWith(':'))) {
      const [name, data] = block.split('\n');
      const event = shape.parse(JSON.parse(data?.slice('data: '.length) ?? ''));
      expect(name).toBe(`event: ${event.type}`);
      yield event;
    }
  }
  expect(text).toBe('');
}
