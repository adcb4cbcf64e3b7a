// Fills a JSON schema from a text: json-schema-faker generates documents, in which values from the text replace the
// generated ones. Runs in a worker (schema-worker.ts), as a schema may take any time.
import { type Schema as CheckedSchema, dereference, validate } from '@cfworker/json-schema';
import { type GenerateOptions, generateSync } from 'json-schema-faker';
import { isSchema, type Json, type JsonSchema } from './json-schema.ts';
import { DRAFT, TextValues } from './text-values.ts';

/** Documents that are generated; they differ in their alternatives and in the lengths of their lists. */
const SEEDS = Array.from({ length: 16 }, (_, index) => index);
/** Objects, lists and references inside one another. */
const DEPTH_MAX = 32;
/** Nothing that is optional, and lists as short as they may be. */
const MINIMAL_DOCUMENT = { optionalsProbability: 0, fixedProbabilities: true, maxDepth: DEPTH_MAX };
/** Values in one document: a schema may be small and its document huge. */
const VALUES_MAX = 5_000;

/** Replaces a generated value of a document; `part` is the schema of that value. */
type Replace = (value: Json, part: JsonSchema, path: string) => Json;

/** No document satisfies the schema; the caller sees why. */
export class SchemaRefused extends Error {}

/**
 * The valid document with the most values from the text and, among these, the fewest others.
 * @param reply - the value of a property that asks for an answer; undefined: there is no such property
 * @throws SchemaRefused
 */
export function fillSchema(schema: JsonSchema, text: string, reply?: string): Json {
  const values = new TextValues(text, reply);
  const root = withLocalTimes(schema);
  const generator = new Generator(root);
  const replace: Replace = (value, part, path) => values.replace(value, part, nameAt(path));
  const named = withNamedProperties(root, values);
  const filled = SEEDS.flatMap((seed) => {
    values.beginDocument();
    const json = generator.generate(named, { seed, useDefaultValue: true, minItems: seed % 2 }, replace);
    return json === null ? [] : [{ json, found: values.found.size, invented: values.invented }];
  });
  filled.sort((a, b) => b.found - a.found || a.invented - b.invented);
  let json = filled[0]?.json ?? null;
  for (const seed of SEEDS) json ??= generator.generate(root, { seed });
  if (json === null) throw new SchemaRefused(generator.reason);
  return JSON.parse(json);
}

class Generator {
  readonly #root: JsonSchema;
  readonly #lookup: ReturnType<typeof dereference>;
  /** Why the last document is not valid. */
  reason = '';

  constructor(root: JsonSchema) {
    this.#root = root;
    this.#lookup = dereference(root as CheckedSchema);
  }

  /** A document as JSON; null when it is not valid. The same seed gives the same document. */
  generate(schema: JsonSchema, options: GenerateOptions, replace: Replace = (value) => value): string | null {
    let values = 0;
    const outputTransform: GenerateOptions['outputTransform'] = (value, part, path) => {
      values += 1;
      if (values > VALUES_MAX) throw new Error(`a document has more than ${VALUES_MAX} values`);
      return isSchema(part) ? replace(value as Json, part, path) : value;
    };
    try {
      const settings = { ...MINIMAL_DOCUMENT, outputTransform, ...options };
      const json = JSON.stringify(generateSync(schema, settings));
      const { errors } = validate(JSON.parse(json), this.#root as CheckedSchema, DRAFT, this.#lookup);
      if (errors.length === 0) return json;
      this.reason = `no document was found that satisfies its "${errors.at(-1)?.keyword}"`;
    } catch (error) {
      this.reason = (error as Error).message.slice(0, 200);
    }
    return null;
  }
}

/** zod writes times without an offset as `time` beside a pattern; the format itself demands an offset. */
function withLocalTimes(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_, part) =>
    isSchema(part) && part.format === 'time' && 'pattern' in part ? { ...part, format: undefined } : part,
  );
}

/** Requires the optional properties that the text has a value for, so that they are generated. */
function withNamedProperties(schema: JsonSchema, values: TextValues): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_, part) => {
    if (!isSchema(part) || !isSchema(part.properties)) return part;
    const named = Object.entries(part.properties)
      .filter(([name, property]) => isSchema(property) && values.named(property, name) !== undefined)
      .map(([name]) => name);
    const required = Array.isArray(part.required) ? part.required : [];
    return named.length === 0 ? part : { ...part, required: [...new Set([...required, ...named])] };
  });
}

/** The name of the property at a JSON pointer; for an item, the name of its list. */
function nameAt(path: string): string {
  return path.split('/').findLast((segment) => !/^\d*$/.test(segment)) ?? '';
}
