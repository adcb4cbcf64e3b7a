import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../../local-models.ts';
import { LocalRefusal } from '../../local-refusal.ts';
import { threadMs } from '../../test-longest-turn.ts';
import type { JsonSchema } from './json-schema.ts';
import { SchemaWorker } from './schema-worker.ts';

const here = new AbortController().signal;
const worker = new SchemaWorker();
const fill = (schema: JsonSchema, text = 'x', signal = here) =>
  worker.forCall(signal)({ schema, text, reply: 'a reply' });

/** At most this much work of the router's own thread, whatever the schema. */
const CPU_MS_MAX = 250;

describe('a schema worker', () => {
  it.each<[string, JsonSchema, string]>([
    [
      'a pattern that backtracks for years',
      { type: 'string', pattern: '^((a+)+)+$', default: `${'a'.repeat(200)}!` },
      'too much time',
    ],
    ['a pattern that writes gigabytes', { type: 'string', pattern: '(((a{999}){999}){999}){999}' }, ''],
    ['a text of gigabytes', { type: 'string', minLength: 2 ** 31 }, ''],
    ['a list of a million', { type: 'array', minItems: 1_000_000, items: { type: 'null' } }, ''],
    ['a list of a million different ones', { type: 'array', uniqueItems: true, minItems: 1e6 }, ''],
    ['endless nesting', { $ref: '#' }, ''],
    ['an invalid pattern', { type: 'string', pattern: '(' }, 'Unterminated group'],
    ['no schema at all', { type: 7, $ref: 8, properties: 9 }, ''],
  ])('refuses %s, and keeps no other call waiting', async (_, schema, reason) => {
    const before = threadMs();
    const failure = await fill(schema).catch((error: unknown) => error);
    expect(threadMs() - before).toBeLessThan(CPU_MS_MAX);
    expect(failure).toBeInstanceOf(LocalRefusal);
    expect((failure as LocalRefusal).message).toContain(reason);
    expect(await fill({ type: 'integer' }, '7')).toBe(7);
  });

  it('generates what only a schema’s keywords decide', async () => {
    const schema = {
      type: 'object',
      properties: { kind: { const: 'a' }, size: { type: 'integer', not: { const: 0 } } },
      required: ['kind', 'size'],
      if: { properties: { kind: { const: 'a' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['reason'], properties: { reason: { type: 'string', minLength: 3 } } },
    };
    const value = await fill(schema);
    expect(value).toMatchObject({ kind: 'a', size: expect.any(Number), reason: expect.any(String) });
    expect(await fill(schema)).toEqual(value);
  });

  it('fills no further tool of a call that was refused', async () => {
    const models = createLocalModels({ now: () => 0 });
    const chat = async (body: Record<string, unknown>) => {
      const json = Buffer.from(JSON.stringify({ model: 'local/chat', ...body }));
      const call = { type: 'language', model: 'chat', body: json, stream: false, signal: here } as const;
      return (await models.answer(call)).status;
    };
    const endless = { type: 'string', pattern: '^(a+)+$' };
    const tools = Array.from({ length: 8 }, (_, index) => ({
      type: 'function',
      function: {
        name: `get_weather_forecast_${index}`,
        parameters: { properties: { text: endless }, required: ['text'] },
      },
    }));
    const content = `weather forecast for ${'a'.repeat(60)}b`;
    expect(await chat({ messages: [{ role: 'user', content }], tools })).toBe(400);
    const schema = { type: 'object', properties: { size: { type: 'integer' } } };
    const response_format = { type: 'json_schema', json_schema: { name: 'size', schema } };
    const startedAt = performance.now();
    expect(await chat({ messages: [{ role: 'user', content: 'size: 7' }], response_format })).toBe(200);
    // The seven others would take 14 s.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('lets a caller leave while it waits', async () => {
    const caller = new AbortController();
    const first = fill({ type: 'integer' }, '1');
    const second = fill({ type: 'integer' }, '2', caller.signal);
    caller.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    expect(await first).toBe(1);
  });
});
