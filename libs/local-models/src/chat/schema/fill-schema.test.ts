import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fillSchema, SchemaRefused } from './fill-schema.ts';
import type { JsonSchema } from './json-schema.ts';

function fill(schema: JsonSchema, text: string): unknown {
  return fillSchema(schema, text, 'a reply');
}

/** Fills a zod schema through JSON Schema, as clients do, and lets zod judge the result. */
function fillZod<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  return schema.parse(fill(z.toJSONSchema(schema) as JsonSchema, text));
}

describe('fillSchema takes from the text', () => {
  it('values beside their labels', () => {
    const order = z.object({ item: z.string(), quantity: z.int(), price: z.number() });
    expect(fillZod(order, 'item: desk lamp, price: $19.90, quantity: 3')).toEqual({
      item: 'desk lamp',
      quantity: 3,
      price: 19.9,
    });
  });

  it('names, places and numbers, each once', () => {
    const trip = z.object({ origin: z.string(), destination: z.string(), seats: z.int(), rooms: z.int() });
    expect(fillZod(trip, 'From Oslo to New York with 2 seats and 1 room')).toEqual({
      origin: 'Oslo',
      destination: 'New York',
      seats: 2,
      rooms: 1,
    });
    expect(fillZod(z.object({ author: z.string() }), 'Ada Lovelace wrote it.')).toEqual({
      author: 'Ada Lovelace',
    });
    expect(fillZod(z.object({ location: z.string() }), 'What is it like in Boston, MA?')).toEqual({
      location: 'Boston, MA',
    });
  });

  it('enums by their words, and booleans by mention and negation', () => {
    const room = z.object({
      kind: z.enum(['suite', 'single_room']),
      balcony: z.boolean(),
      parking: z.boolean(),
    });
    expect(fillZod(room, 'A single room. It has a balcony. There is no parking.')).toEqual({
      kind: 'single_room',
      balcony: true,
      parking: false,
    });
  });

  it('lists after a label', () => {
    const palette = z.object({ colors: z.array(z.string()), sizes: z.array(z.int()) });
    expect(fillZod(palette, 'The colors are red, green and blue. Sizes: 3, 4')).toEqual({
      colors: ['red', 'green', 'blue'],
      sizes: [3, 4],
    });
  });

  it('what fits a format or a pattern', () => {
    const contact = z.object({
      email: z.email(),
      website: z.url(),
      part: z.string().regex(/^[A-Z]{2}-\d{3}$/),
    });
    const text = 'Write to ada@example.org about QX-417 or see https://ada.example.org/x.';
    expect(fillZod(contact, text)).toEqual({
      email: 'ada@example.org',
      website: 'https://ada.example.org/x',
      part: 'QX-417',
    });
    expect(fillZod(contact, 'Please do').part).toMatch(/^[A-Z]{2}-\d{3}$/);
  });

  it('the result of a sum, and the reply', () => {
    expect(fillZod(z.object({ answer: z.number() }), 'What is 6*7?')).toEqual({ answer: 42 });
    expect(fillZod(z.object({ answer: z.string() }), 'What is 6*7?')).toEqual({ answer: 'a reply' });
  });

  it('the alternative that it gives most of', () => {
    const shape = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number() }),
      z.object({ kind: z.literal('rectangle'), width: z.number(), height: z.number() }),
    ]);
    expect(fillZod(z.object({ shape }), 'width: 4, height: 5')).toEqual({
      shape: { kind: 'rectangle', width: 4, height: 5 },
    });
  });

  it('only what it names, where a property is optional', () => {
    const note = z.object({ city: z.string().optional(), count: z.int().nullable() });
    expect(fillZod(note, 'nothing of note')).toEqual({ count: null });
    expect(fillZod(note, 'city: Oslo, count: 12')).toEqual({ city: 'Oslo', count: 12 });
  });

  it('nothing where the schema has a default, unless it is named', () => {
    const unit = z.object({ unit: z.string().default('metric') });
    expect(fillZod(unit, 'The weather in Boston')).toEqual({ unit: 'metric' });
    expect(fillZod(unit, 'unit: imperial')).toEqual({ unit: 'imperial' });
  });
});

describe('fillSchema takes little time', () => {
  const FIELDS = 100;
  /** A hundred fields took 10 s of CPU time when it grew with the square of the run's length; now they take 0.1 s. */
  const CPU_MS_MAX = 2_000;

  it.each([
    ['digits', '1'],
    ['groups of digits', '1,'],
    ['decimals', '1.'],
    ['zeros', '0,000'],
  ])('over a long run of %s', (_, unit) => {
    const names = Array.from({ length: FIELDS }, (_, index) => `${KINDS_OF_NUMBERS[index % 4]}_${index}`);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'integer' }])),
      required: names,
    };
    const before = process.cpuUsage();
    expect(Object.keys(fill(schema, `${unit.repeat(8_000 / unit.length)}x`) as object)).toEqual(names);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(CPU_MS_MAX);
  });
  const KINDS_OF_NUMBERS = ['count', 'price', 'temperature', 'percent'];
});

describe('fillSchema satisfies', () => {
  it('references, recursion and allOf', () => {
    const schema = {
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' } },
      required: ['root'],
      $defs: {
        node: {
          allOf: [
            { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] },
            { properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } },
          ],
        },
      },
    };
    expect(fill(schema, 'label: trunk')).toEqual({ root: { label: 'trunk' } });
  });

  it('trees that need their branches', () => {
    const node = z.object({
      label: z.string(),
      get children() {
        return z.array(node);
      },
    });
    expect(fillZod(node, 'label: trunk')).toEqual({ label: 'trunk', children: [] });
    const list = z.object({
      value: z.int(),
      get next() {
        return list.nullable();
      },
    });
    expect(fillZod(list, 'value: 7')).toEqual({ value: 7, next: null });
  });

  it('counts and uniqueness of items', () => {
    const tags = fill(
      { type: 'array', items: { type: 'string' }, minItems: 3, uniqueItems: true },
      'x',
    ) as string[];
    expect(new Set(tags).size).toBe(3);
    expect(
      fill({ type: 'array', items: { type: 'integer' }, maxItems: 2, minItems: 2 }, '1, 2, 3 and 4'),
    ).toEqual([1, 2]);
  });

  it('documents deeper than a few levels', () => {
    const deep = (levels: number): z.ZodType =>
      levels === 0 ? z.object({ size: z.int() }) : z.object({ inner: deep(levels - 1) });
    expect(JSON.stringify(fillZod(deep(8), 'size: 7'))).toContain('{"size":7}');
  });

  it.each([
    ['a keyword that nothing satisfies', { type: 'object', not: {} }, '"not"'],
    ['bounds without a number between', { type: 'integer', minimum: 5, maximum: 4 }, '"m'],
    ['a pattern that nothing matches', { type: 'string', pattern: '(?=a)b' }, '"pattern"'],
    ['endless nesting', { $ref: '#' }, ''],
    ['a reference that leads nowhere', { $ref: '#/$defs/x' }, '#/$defs/x'],
    ['too large a document', nested(6), 'values'],
  ])('nothing falsely: %s is refused', (_, schema, reason) => {
    expect(() => fill(schema, 'text')).toThrow(SchemaRefused);
    expect(() => fill(schema, 'text')).toThrow(reason);
  });

  it('any schema of the usual kind, whatever the text', () => {
    const scalar = fc.oneof(
      fc.record({ min: fc.integer({ min: -50, max: 50 }), span: fc.nat(100) }).map(({ min, span }) =>
        z
          .int()
          .min(min)
          .max(min + span),
      ),
      fc.record({ min: fc.nat(8), span: fc.nat(20) }).map(({ min, span }) =>
        z
          .string()
          .min(min)
          .max(min + span),
      ),
      fc.constantFrom(
        z.boolean(),
        z.null(),
        z.number(),
        z.email(),
        z.uuid(),
        z.url(),
        z.iso.date(),
        z.iso.datetime(),
        z.iso.time(),
        z.ipv4(),
        z.ipv6(),
        z.iso.duration(),
        z.hostname(),
      ),
      fc
        .uniqueArray(fc.stringMatching(/^[a-z_]{1,8}$/), { minLength: 1, maxLength: 4 })
        .map((values) => z.enum(values)),
      fc.integer({ min: 1, max: 9 }).map((step) => z.number().multipleOf(step).min(step)),
    );
    const name = fc.constantFrom(
      'name',
      'city',
      'age',
      'date',
      'tags',
      'answer',
      'price',
      'to',
      'is_open',
      'order_id',
    );
    const { schema } = fc.letrec<{ schema: z.ZodType }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        scalar as fc.Arbitrary<z.ZodType>,
        fc
          .dictionary(name, tie('schema'), { maxKeys: 4, noNullPrototype: true })
          .map((shape) => z.strictObject(shape)),
        fc.record({ item: tie('schema'), min: fc.nat(3) }).map(({ item, min }) =>
          z
            .array(item)
            .min(min)
            .max(min + 2),
        ),
        fc.tuple(tie('schema'), tie('schema')).map((options) => z.union(options)),
        tie('schema').map((inner) => inner.nullable()),
      ),
    }));
    const text = fc.oneof(
      fc.lorem({ mode: 'sentences', maxCount: 3 }),
      fc.constant(
        'Ada Lovelace, 36, of London wrote to bob@example.org on 2026-01-02 at 14:30: price $12.50, not open.',
      ),
      fc.string({ unit: 'grapheme' }),
    );
    fc.assert(
      fc.property(schema, text, (one, words) => {
        one.parse(fill(z.toJSONSchema(one) as JsonSchema, words));
      }),
      { numRuns: 300 },
    );
  });
});

/** An array of arrays: 10 to the power of `levels` values. */
function nested(levels: number): JsonSchema {
  return levels === 0 ? { type: 'boolean' } : { type: 'array', minItems: 10, items: nested(levels - 1) };
}
