// Fills a JSON schema from a text: what the text says goes where names, descriptions, types and formats want it; the
// rest gets the plainest value. Runs in a worker (schema-worker.ts), as a schema may take any time.
import { type Schema as CheckedSchema, dereference, validate } from '@cfworker/json-schema';
import { generateSync } from 'json-schema-faker';
import { type Field, fieldOf, NAMELESS } from './field.ts';
import { chooseBoolean, chooseValue } from './fill-choice.ts';
import {
  alternativesOf,
  type Filled,
  isSchema,
  type Json,
  type JsonSchema,
  numberOf,
  type OpenSchemas,
  type ResolvedSchema,
  resolveSchema,
  SchemaRefused,
  typeOf,
  Unfillable,
} from './json-schema.ts';
import { clausesOf, listIn, pairsIn } from './lists.ts';
import { numbersFor } from './number-values.ts';
import { SourceText } from './source-text.ts';
import { type StringContext, stringFiller, stringsFor } from './string-values.ts';

/** A place in the document that wants a value. */
interface Place {
  field: Field;
  source: SourceText;
  open: OpenSchemas;
}

const DRAFT = '2020-12';
/** Items that an array is given from a text. */
const ITEMS_MAX = 50;
/** Values in one document: a schema may be small and its document huge. */
const VALUES_MAX = 5_000;

/**
 * A value that satisfies the schema: from the text, else one that the library generates.
 * @throws SchemaRefused
 */
export function fillSchema(schema: JsonSchema, text: string, context: StringContext): Filled {
  const root = withLocalTimes(schema) as JsonSchema;
  const filler = new SchemaFiller(root, context);
  let reason: string;
  try {
    const filled = filler.fill(root, {
      field: NAMELESS,
      source: new SourceText(text),
      open: new Set([root]),
    });
    const failed = filler.check(filled.value, root);
    if (failed === null) return filled;
    reason = `the text gives nothing that satisfies its "${failed}"`;
  } catch (error) {
    if (!(error instanceof Unfillable)) throw error;
    reason = error.message;
  }
  const generated = filler.generate(root);
  if (generated === null) throw new SchemaRefused(reason);
  return { value: generated, found: 0 };
}

/** zod writes times without an offset as `time` beside a pattern; the format itself demands an offset. */
function withLocalTimes(schema: JsonSchema): unknown {
  return JSON.parse(JSON.stringify(schema), (_, value) =>
    isSchema(value) && value.format === 'time' && 'pattern' in value
      ? { ...value, format: 'local-time' }
      : value,
  );
}

class SchemaFiller {
  readonly #root: JsonSchema;
  readonly #context: StringContext;
  readonly #lookup: ReturnType<typeof dereference>;
  #values = 0;

  constructor(root: JsonSchema, context: StringContext) {
    this.#root = root;
    this.#context = context;
    this.#lookup = dereference(root as CheckedSchema);
  }

  fill(unresolved: unknown, place: Place): Filled {
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw new SchemaRefused(`its document has more than ${VALUES_MAX} values`);
    const { schema, open } = this.#resolve(unresolved, place);
    const here = { ...place, open };
    if ('const' in schema) return chooseValue([schema.const as Json], place.source);
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return chooseValue(schema.enum, place.source);
    const alternatives = alternativesOf(schema);
    if (alternatives) return this.#fillBest(alternatives, here);
    const type = typeOf(schema) ?? 'string';
    switch (type) {
      case 'object':
        return this.#fillObject(schema, here);
      case 'array':
        return this.#fillArray(schema, here);
      case 'boolean':
        return chooseBoolean(place.field, schema.default, place.source);
      case 'null':
        return { value: null, found: 0 };
      case 'string':
      case 'number':
      case 'integer':
        return this.#fillLeaf({ ...schema, type }, place);
    }
  }

  /** The first keyword that the value does not satisfy; null if it satisfies all. */
  check(value: Json, schema: JsonSchema): string | null {
    const { errors } = validate(value, schema as CheckedSchema, DRAFT, this.#lookup);
    return errors.at(-1)?.keyword ?? null;
  }

  /** A value by the library, always the same for the same seed; null if it finds none. */
  generate(schema: JsonSchema, seed = 1): Json | null {
    try {
      const value = generateSync(schema as Parameters<typeof generateSync>[0], {
        seed,
        optionalsProbability: 0,
      });
      return this.check(value as Json, schema) === null ? (value as Json) : null;
    } catch {
      return null;
    }
  }

  #resolve(schema: unknown, { open }: Place): ResolvedSchema {
    return resolveSchema(schema, this.#root, open);
  }

  /** null, with nothing taken from the text, where a part cannot be filled. */
  #attempt<T>({ source }: Place, work: () => T): T | null {
    const before = source.taken;
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Unfillable)) throw error;
      source.taken = before;
      return null;
    }
  }

  #fillLeaf(schema: JsonSchema, { field, source }: Place): Filled {
    const text = schema.type === 'string';
    const candidates = text ? stringsFor(schema, field, source, this.#context) : numbersFor(field, source);
    for (const candidate of candidates) {
      if (candidate.value === '' || this.check(candidate.value, schema) !== null) continue;
      source.take(candidate);
      return { value: candidate.value, found: 1 };
    }
    const plain = text ? [stringFiller(schema, this.#context)] : [0, schema.minimum, schema.maximum];
    const fillers = [schema.default, ...plain].filter((one) => one !== undefined) as Json[];
    const value = fillers.find((one) => this.check(one, schema) === null) ?? this.generate(schema);
    if (value === null) {
      const keyword = this.check(fillers.at(-1) ?? null, schema);
      throw new Unfillable(`no ${schema.type} satisfies its "${keyword}" and the rest together`);
    }
    return { value, found: 0 };
  }

  /** The alternative of which the text says most; with nothing said, null where it is allowed, else the first. */
  #fillBest(alternatives: JsonSchema[], place: Place): Filled {
    const { source } = place;
    const before = source.taken;
    const tried = alternatives.flatMap((alternative) => {
      source.taken = before;
      const filled = this.#attempt(place, () => this.fill(alternative, place));
      return filled === null ? [] : [{ filled, taken: source.taken }];
    });
    if (tried[0] === undefined) throw new Unfillable('none of its alternatives can be filled');
    const most = tried.reduce((a, b) => (b.filled.found > a.filled.found ? b : a));
    const nothing = tried.find(({ filled }) => filled.value === null);
    const best = most.filled.found === 0 && nothing ? nothing : most;
    source.taken = best.taken;
    return best.filled;
  }

  /** What is optional is there only if the text gives it. */
  #fillObject(schema: JsonSchema, place: Place): Filled {
    const { source } = place;
    const properties = isSchema(schema.properties) ? schema.properties : {};
    const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
    const filled: Record<string, Filled> = Object.create(null);
    const fill = (name: string, property: unknown) => this.fill(property, { ...place, field: fieldOf(name) });
    for (const [name, property] of Object.entries(properties)) {
      const before = source.taken;
      const value = required.has(name)
        ? fill(name, property)
        : this.#attempt(place, () => fill(name, property));
      if (value !== null && (required.has(name) || value.found > 0)) filled[name] = value;
      else source.taken = before;
    }
    const others = schema.additionalProperties ?? {};
    for (const name of required) filled[name] ??= fill(name, others);
    if (Object.keys(filled).length === 0 && Object.keys(properties).length === 0 && others !== false)
      Object.assign(filled, this.#fillPairs(others, place));
    return {
      value: Object.fromEntries(Object.entries(filled).map(([name, { value }]) => [name, value])),
      found: Object.values(filled).reduce((sum, { found }) => sum + found, 0),
    };
  }

  /** An open map: every `name: value` of the text whose value the schema takes. */
  #fillPairs(schema: unknown, place: Place): Record<string, Filled> {
    const pairs = pairsIn(place.source.text).slice(0, ITEMS_MAX);
    const any = schema === true || (isSchema(schema) && Object.keys(schema).length === 0);
    const filled = pairs.map(([name, text]) => {
      const value = any
        ? readPlain(text)
        : this.fill(schema, { ...place, field: NAMELESS, source: new SourceText(text) });
      return [name, value] as const;
    });
    return Object.fromEntries(filled.filter(([, { found }]) => found > 0));
  }

  #fillArray(schema: JsonSchema, place: Place): Filled {
    const min = numberOf(schema, 'minItems') ?? 0;
    const max = Math.min(numberOf(schema, 'maxItems') ?? ITEMS_MAX, Math.max(ITEMS_MAX, min));
    const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const filled = fixed.map((item) => this.fill(item, place));
    const written = new Set<string>();
    const add = (item: Filled | null) => {
      const text = JSON.stringify(item?.value);
      if (item === null || (schema.uniqueItems === true && written.has(text))) return false;
      written.add(text);
      filled.push(item);
      return true;
    };
    const items = schema.items ?? {};
    const listed = items === false ? [] : (this.#attempt(place, () => this.#fillItems(items, place)) ?? []);
    for (const item of listed) if (filled.length < max) add(item);
    while (filled.length < min) {
      if (add(this.fill(items, place))) continue;
      const value = this.generate(this.#resolve(items, place).schema, filled.length + 1);
      if (!add(value === null ? null : { value, found: 0 }))
        throw new Unfillable('it has fewer values than its "minItems"');
    }
    return {
      value: filled.map(({ value }) => value),
      found: filled.reduce((sum, { found }) => sum + found, 0),
    };
  }

  /** The items that the text has for an array. */
  #fillItems(items: unknown, place: Place): Filled[] {
    const { field, source } = place;
    const { schema, open } = this.#resolve(items, place);
    const fits = (value: Json) => this.check(value, schema) === null;
    if (Array.isArray(schema.enum))
      return schema.enum.map((one) => chooseValue([one as Json], source)).filter(({ found }) => found > 0);
    switch (typeOf(schema) ?? 'string') {
      case 'number':
      case 'integer': {
        const numbers = source.numbers().filter(({ value }) => fits(value));
        numbers.forEach((number) => void source.take(number));
        return numbers.map(({ value }) => ({ value, found: 1 }));
      }
      case 'string':
        return listIn(source, field)
          .filter(fits)
          .map((value) => ({ value, found: 1 }));
      case 'object':
        return this.#fillClauses(schema, { ...place, open });
      default:
        return [];
    }
  }

  /** One object for each clause that gives at least half of what the object needs, else one for the whole text. */
  #fillClauses(schema: JsonSchema, place: Place): Filled[] {
    const needed = Array.isArray(schema.required) ? schema.required.length : 1;
    const clauses = clausesOf(place.source.text).slice(0, ITEMS_MAX);
    const filled = clauses
      .map((clause) => this.fill(schema, { ...place, source: new SourceText(clause) }))
      .filter(({ found }) => found >= Math.max(1, needed / 2));
    if (filled.length > 0) return filled;
    const whole = this.fill(schema, place);
    return whole.found > 0 ? [whole] : [];
  }
}

/** A value as it stands: a number, true, false or a text. */
function readPlain(text: string): Filled {
  const found = text === '' ? 0 : 1;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return { value: Number(text), found };
  return { value: /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : text, found };
}
