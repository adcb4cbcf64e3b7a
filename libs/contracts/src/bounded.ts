// Lists and maps of requests: their length is checked before their content, and the first wrong element ends the check.
// `z.array` and `z.record` check every element and collect every issue, which takes seconds for a hostile body.
import { z } from 'zod';

export interface Bounds {
  min?: number;
  max: number;
}

interface MapBounds extends Bounds {
  key?: z.ZodString;
}

/** A list of `min` to `max` elements. They are checked and stay as they are: `element` transforms nothing. */
export function boundedList<E extends z.ZodType>(
  element: E,
  { min = 0, max }: Bounds,
): z.ZodType<z.output<E>[]> {
  return z
    .any()
    .superRefine((value, ctx) => {
      if (!Array.isArray(value)) refuse(ctx, { code: 'invalid_type', expected: 'array' });
      else if (isWithin(value.length, { min, max }, 'elements', ctx))
        checkEach(value.entries(), element, ctx);
    })
    .meta({ type: 'array', items: jsonSchemaOf(element), minItems: min, maxItems: max });
}

/** A text, or a list of at most `max` elements; an issue names the element, unlike one of `z.union`. */
export function textOrList<E extends z.ZodType>(
  element: E,
  bounds: Pick<Bounds, 'max'>,
): z.ZodType<string | z.output<E>[]> {
  const list = boundedList(element, bounds);
  return z
    .any()
    .superRefine((value, ctx) => {
      if (typeof value === 'string') return;
      const issue = list.safeParse(value).error?.issues[0];
      if (issue) refuse(ctx, { ...issue });
    })
    .meta({ anyOf: [{ type: 'string' }, jsonSchemaOf(list)] });
}

const ANY_OBJECT = { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} } as const;

/** An object with unchecked content: `z.record` takes a second for 500,000 entries. */
export function anyObject(): z.ZodType<Record<string, unknown>> {
  return z
    .any()
    .superRefine((value, ctx) => {
      if (!isObject(value)) refuse(ctx, { code: 'invalid_type', expected: 'record' });
    })
    .meta(ANY_OBJECT);
}

/** A text, or an object of any content. */
export function textOrObject(): z.ZodType<string | Record<string, unknown>> {
  return z
    .any()
    .superRefine((value, ctx) => {
      if (typeof value !== 'string' && !isObject(value))
        refuse(ctx, { code: 'custom', message: 'must be a text or an object' });
    })
    .meta({ anyOf: [{ type: 'string' }, ANY_OBJECT] });
}

/** A map of `min` to `max` entries. They are checked and stay as they are: `element` transforms nothing. */
export function boundedMap<E extends z.ZodType>(
  element: E,
  { min = 0, max, key = z.string() }: MapBounds,
): z.ZodType<Record<string, z.output<E>>> {
  return z
    .any()
    .superRefine((value, ctx) => {
      if (!isObject(value)) return refuse(ctx, { code: 'invalid_type', expected: 'record' });
      const entries = Object.entries(value);
      if (!isWithin(entries.length, { min, max }, 'entries', ctx)) return;
      const names = entries.map(([name]): [string, string] => [name, name]);
      if (checkEach(names, key, ctx)) checkEach(entries, element, ctx);
    })
    .meta({
      type: 'object',
      propertyNames: jsonSchemaOf(key),
      additionalProperties: jsonSchemaOf(element),
      minProperties: min,
      maxProperties: max,
    });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Elements of a list or entries of an object; 0 for anything else. */
export function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

function isWithin(length: number, { min = 0, max }: Bounds, what: string, ctx: z.RefinementCtx): boolean {
  if (length >= min && length <= max) return true;
  refuse(ctx, { code: 'custom', message: `must have ${min} to ${max} ${what}, and has ${length}` });
  return false;
}

/** Whether every value is valid; adds the first issue. */
function checkEach(
  entries: Iterable<[PropertyKey, unknown]>,
  schema: z.ZodType,
  ctx: z.RefinementCtx,
): boolean {
  for (const [name, value] of entries) {
    const issue = schema.safeParse(value).error?.issues[0];
    if (!issue) continue;
    refuse(ctx, { ...issue, path: [name, ...issue.path] });
    return false;
  }
  return true;
}

/** Adds an issue that ends the check, as a wrong type does. */
function refuse(ctx: z.RefinementCtx, issue: Parameters<z.RefinementCtx['addIssue']>[0] & object): void {
  ctx.addIssue({ ...issue, continue: false });
}

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}
