// JSON Schema as local/chat understands it: references resolved, `allOf` merged, types told apart. A keyword that it
// cannot honour is refused by name rather than ignored, so that what it returns does satisfy the schema.
import { LocalRefusal } from '../../local-refusal.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type JsonType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

const JSON_TYPES: ReadonlySet<string> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);

/** Levels of nesting, references included. */
export const SCHEMA_DEPTH_MAX = 32;

const UNSUPPORTED = [
  'not',
  'if',
  'dependentRequired',
  'dependentSchemas',
  'contains',
  'patternProperties',
  'unevaluatedProperties',
  '$dynamicRef',
];

/** Which type a schema without `type` is about, by the keywords that only that type has. */
const TYPE_BY_KEYWORD: readonly (readonly [string, JsonType])[] = [
  ['properties', 'object'],
  ['required', 'object'],
  ['additionalProperties', 'object'],
  ['items', 'array'],
  ['prefixItems', 'array'],
  ['minItems', 'array'],
  ['minLength', 'string'],
  ['maxLength', 'string'],
  ['pattern', 'string'],
  ['format', 'string'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['multipleOf', 'number'],
];

export function refuseSchema(message: string): LocalRefusal {
  return new LocalRefusal(
    400,
    'invalid_request',
    `local/chat cannot fill this JSON schema: ${message}`,
    null,
  );
}

/** A schema with its reference followed and its `allOf` merged in. @throws LocalRefusal */
export function resolveSchema(schema: unknown, root: JsonSchema, depth: number): JsonSchema {
  if (depth > SCHEMA_DEPTH_MAX) throw refuseSchema(`it is nested more than ${SCHEMA_DEPTH_MAX} levels deep`);
  if (schema === true) return {};
  if (!isSchema(schema)) throw refuseSchema(`${JSON.stringify(schema)} is no schema`);
  for (const keyword of UNSUPPORTED) if (keyword in schema) throw refuseSchema(`it uses "${keyword}"`);
  const { $ref: reference, allOf, ...rest } = schema;
  let resolved: JsonSchema = rest;
  if (typeof reference === 'string')
    resolved = merge(resolveSchema(lookUp(reference, root), root, depth + 1), resolved);
  if (Array.isArray(allOf))
    for (const part of allOf) resolved = merge(resolved, resolveSchema(part, root, depth + 1));
  return resolved;
}

/** The alternatives of a schema: `anyOf`, `oneOf`, or several types; null when there is one only. */
export function alternativesOf(schema: JsonSchema): JsonSchema[] | null {
  const { anyOf, oneOf, type, ...rest } = schema;
  const options = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : null;
  if (options !== null)
    return options.map((option) =>
      merge(type === undefined ? rest : { ...rest, type }, option === true ? {} : option),
    );
  if (Array.isArray(type) && type.length > 1) return type.map((one) => ({ ...rest, type: one }));
  return null;
}

export function typeOf(schema: JsonSchema): JsonType | null {
  const declared = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (typeof declared === 'string') {
    if (JSON_TYPES.has(declared)) return declared as JsonType;
    throw refuseSchema(`${declared} is no type`);
  }
  return TYPE_BY_KEYWORD.find(([keyword]) => keyword in schema)?.[1] ?? null;
}

export function numberOf(schema: JsonSchema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function textOf(schema: JsonSchema, keyword: string): string | undefined {
  const value = schema[keyword];
  return typeof value === 'string' ? value : undefined;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function lookUp(reference: string, root: JsonSchema): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) throw refuseSchema(`"${reference}" is not within it`);
  let target: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    target =
      typeof target === 'object' && target !== null && Object.hasOwn(target, name)
        ? Reflect.get(target, name)
        : undefined;
  }
  if (target === undefined) throw refuseSchema(`"${reference}" leads nowhere`);
  return target;
}

function merge(a: JsonSchema, b: unknown): JsonSchema {
  if (!isSchema(b)) throw refuseSchema(`${JSON.stringify(b)} is no schema`);
  const merged: Record<string, unknown> = { ...a, ...b };
  if (isSchema(a.properties) && isSchema(b.properties))
    merged.properties = { ...a.properties, ...b.properties };
  if (Array.isArray(a.required) && Array.isArray(b.required))
    merged.required = [...new Set([...a.required, ...b.required])];
  return merged;
}
