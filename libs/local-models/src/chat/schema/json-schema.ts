// Reads a JSON schema: follows references, merges `allOf`, lists alternatives, and tells the type.

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Filled {
  value: Json;
  /** Leaves that the text gave; 0: everything is a filler. */
  found: number;
}

const JSON_TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
type JsonType = (typeof JSON_TYPES)[number];

/** Keywords that imply a type where a schema does not state one. */
const KEYWORDS_OF_TYPE: readonly (readonly [JsonType, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties']],
  ['array', ['items', 'prefixItems', 'contains', 'minItems', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** The whole schema is refused. */
export class SchemaRefused extends Error {}

/** This part of the schema has no value. An optional part is then left out, and another alternative is tried. */
export class Unfillable extends Error {}

/** Schemas that are being filled; meeting one of them again is endless recursion. */
export type OpenSchemas = ReadonlySet<unknown>;

export interface ResolvedSchema {
  schema: JsonSchema;
  open: OpenSchemas;
}

/** A schema with its references followed and its `allOf` merged. @throws SchemaRefused, Unfillable */
export function resolveSchema(schema: unknown, root: JsonSchema, open: OpenSchemas): ResolvedSchema {
  if (schema === true) return { schema: {}, open };
  if (!isSchema(schema)) throw new Unfillable('it has a part that no value satisfies');
  const { $ref: reference, allOf, ...own } = schema;
  let merged: JsonSchema = own;
  let reached = open;
  const referenced = typeof reference === 'string' ? [lookUp(reference, root)] : [];
  for (const part of [...referenced, ...(Array.isArray(allOf) ? allOf : [])]) {
    if (open.has(part)) throw new Unfillable('it is endlessly many levels deep');
    const resolved = resolveSchema(part, root, new Set(open).add(part));
    merged = merge(resolved.schema, merged);
    reached = reached.union(resolved.open);
  }
  return { schema: merged, open: reached };
}

/** The alternatives of a schema: `anyOf`, `oneOf`, or several types; null if there are none. */
export function alternativesOf({ anyOf, oneOf, type, ...rest }: JsonSchema): JsonSchema[] | null {
  const options = Array.isArray(anyOf) ? anyOf : oneOf;
  const shared = type === undefined ? rest : { ...rest, type };
  if (Array.isArray(options))
    return options.flatMap((one) => (isSchema(one) ? [merge(shared, one)] : one === true ? [shared] : []));
  return Array.isArray(type) && type.length > 1 ? type.map((one) => ({ ...rest, type: one })) : null;
}

/** null: any type. @throws SchemaRefused */
export function typeOf(schema: JsonSchema): JsonType | null {
  const declared = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (declared === undefined)
    return KEYWORDS_OF_TYPE.find(([, keywords]) => keywords.some((one) => one in schema))?.[0] ?? null;
  const type = JSON_TYPES.find((one) => one === declared);
  if (type === undefined) throw new SchemaRefused(`${JSON.stringify(declared)} is no type`);
  return type;
}

export function numberOf(schema: JsonSchema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === 'number' ? value : undefined;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function lookUp(reference: string, root: JsonSchema): unknown {
  let target: unknown = root;
  for (const part of reference.replace(/^#/, '').split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    target =
      typeof target === 'object' && target !== null && Object.hasOwn(target, name)
        ? Reflect.get(target, name)
        : undefined;
  }
  if (target === undefined || !/^#(?:\/|$)/.test(reference))
    throw new SchemaRefused(`"${reference}" leads nowhere`);
  return target;
}

/** Keywords of `b` override those of `a`; properties and required names are those of both. */
function merge(a: JsonSchema, b: JsonSchema): JsonSchema {
  const merged: Record<string, unknown> = { ...a, ...b };
  if (isSchema(a.properties) && isSchema(b.properties))
    merged.properties = { ...a.properties, ...b.properties };
  if (Array.isArray(a.required) && Array.isArray(b.required))
    merged.required = [...new Set([...a.required, ...b.required])];
  return merged;
}
