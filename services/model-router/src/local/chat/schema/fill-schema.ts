// Fills a JSON schema from a text: what the text says goes where the schema's names, descriptions, types and formats
// want it; the rest gets the plainest value that the schema allows.
import { sentencesOf } from '../../text/sentences.ts';
import { type Field, fieldOf, NAMELESS } from './field.ts';
import { chooseBoolean, chooseValue } from './fill-choice.ts';
import { fillNumber, fitsNumber } from './fill-number.ts';
import { fillString, type StringContext } from './fill-string.ts';
import {
  alternativesOf,
  isSchema,
  type JsonSchema,
  numberOf,
  refuseSchema,
  resolveSchema,
  typeOf,
} from './json-schema.ts';
import { SourceText } from './source-text.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Filled {
  value: Json;
  /** Leaves that the text gave; 0: everything is a filler. */
  found: number;
}

/** Elements that an array is given from a text. */
const ITEMS_MAX = 50;
/** Elements that `minItems` may ask for. */
const MIN_ITEMS_MAX = 1_000;
/** Values in one document: a schema may be small and its document huge. */
const VALUES_MAX = 5_000;

/**
 * A value that satisfies the schema.
 * @throws LocalRefusal naming what in the schema cannot be satisfied here.
 */
export function fillSchema(schema: JsonSchema, text: string, context: StringContext): Filled {
  return new SchemaFiller(schema, context).fill(schema, NAMELESS, new SourceText(text), 0);
}

class SchemaFiller {
  readonly #root: JsonSchema;
  readonly #context: StringContext;
  #values = 0;
  /** References that are being filled: meeting one of them again is recursion. */
  readonly #open: string[] = ['#'];

  constructor(root: JsonSchema, context: StringContext) {
    this.#root = root;
    this.#context = context;
  }

  fill(unresolved: unknown, field: Field, source: SourceText, depth: number): Filled {
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw refuseSchema(`its document has more than ${VALUES_MAX} values`);
    return this.#following(unresolved, () => this.#fillResolved(unresolved, field, source, depth));
  }

  /** Does something with a schema while its reference counts as open. */
  #following<T>(schema: unknown, work: () => T): T {
    if (!isSchema(schema) || typeof schema.$ref !== 'string') return work();
    this.#open.push(schema.$ref);
    const result = work();
    this.#open.pop();
    return result;
  }

  #fillResolved(unresolved: unknown, field: Field, source: SourceText, depth: number): Filled {
    const schema = resolveSchema(unresolved, this.#root, depth);
    if ('const' in schema) return { value: schema.const as Json, found: 0 };
    if (Array.isArray(schema.enum)) return this.#fillEnum(schema.enum as Json[], source);
    const alternatives = alternativesOf(schema);
    if (alternatives) return this.#fillBest(alternatives, field, source, depth);
    switch (typeOf(schema)) {
      case 'object':
        return this.#fillObject(schema, source, depth);
      case 'array':
        return this.#fillArray(schema, field, source, depth);
      case 'number':
        return leaf(fillNumber(schema, false, field, source));
      case 'integer':
        return leaf(fillNumber(schema, true, field, source));
      case 'boolean':
        return leaf(chooseBoolean(field, schema.default, source));
      case 'null':
        return { value: null, found: 0 };
      case 'string':
      case null:
        return leaf(fillString(schema, field, source, this.#context));
    }
  }

  #fillEnum(values: Json[], source: SourceText): Filled {
    if (values.length === 0) throw refuseSchema('it has an empty "enum"');
    return leaf(chooseValue(values, source));
  }

  /** The alternative of which the text says most; with nothing said, null where it is allowed, else the first. */
  #fillBest(alternatives: JsonSchema[], field: Field, source: SourceText, depth: number): Filled {
    const ending = alternatives.filter((alternative) => !this.#recurs(alternative));
    const tried = (ending.length > 0 ? ending : alternatives).map((alternative) => {
      const fork = source.fork();
      const filled = this.fill(alternative, field, fork, depth + 1);
      return { fork, filled, score: filled.found + this.#tagScore(alternative, source, depth) };
    });
    const best = tried.reduce((a, b) => (b.score > a.score ? b : a));
    const nothing = tried.find(({ filled }) => filled.value === null);
    if (best.score === 0 && nothing) return nothing.filled;
    source.adopt(best.fork);
    return best.filled;
  }

  /** How much the text speaks of an alternative's constants: `kind: "circle"` in a union of shapes. */
  #tagScore(alternative: unknown, source: SourceText, depth: number): number {
    const schema = resolveSchema(alternative, this.#root, depth + 1);
    const properties = isSchema(schema.properties) ? Object.values(schema.properties) : [schema];
    const constants = properties.filter(isSchema).flatMap((one) => ('const' in one ? [one.const] : []));
    return constants.filter((constant) => chooseValue([constant], source).found).length;
  }

  #fillObject(schema: JsonSchema, source: SourceText, depth: number): Filled {
    const properties = isSchema(schema.properties) ? schema.properties : {};
    const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
    const value: Record<string, Json> = {};
    let found = 0;
    for (const [name, property] of Object.entries(properties)) {
      const fork = source.fork();
      const filled = required.has(name) ? null : this.#fillOptional(property, name, fork, depth);
      const kept = required.has(name) ? this.#fillProperty(property, name, fork, depth) : filled;
      if (kept === null) continue;
      source.adopt(fork);
      define(value, name, kept.value);
      found += kept.found;
    }
    for (const name of required)
      if (!Object.hasOwn(value, name))
        define(value, name, this.#fillProperty(schema.additionalProperties ?? {}, name, source, depth).value);
    if (Object.keys(properties).length === 0 && required.size === 0)
      found += this.#fillPairs(schema, value, source, depth);
    this.#checkCount(schema, 'Properties', Object.keys(value).length);
    return { value, found };
  }

  #fillProperty(property: unknown, name: string, source: SourceText, depth: number): Filled {
    return this.fill(property, fieldOf(name, isSchema(property) ? property : {}), source, depth + 1);
  }

  /** What is optional is there only if the text gives it; so a schema that refers to itself comes to an end. */
  #fillOptional(property: unknown, name: string, source: SourceText, depth: number): Filled | null {
    if (this.#recurs(property)) return null;
    const filled = this.#fillProperty(property, name, source, depth);
    return filled.found > 0 ? filled : null;
  }

  /** Whether a schema mentions one that is being filled: what can be left out of a tree is. */
  #recurs(schema: unknown): boolean {
    const written = JSON.stringify(schema ?? null);
    return this.#open.some((reference) => written.includes(JSON.stringify(reference)));
  }

  /** An open map: every `name: value` of the text whose value the schema takes. */
  #fillPairs(schema: JsonSchema, value: Record<string, Json>, source: SourceText, depth: number): number {
    if (schema.additionalProperties === false) return 0;
    const pairs = source.text.matchAll(
      /(?:^|[\n,;{]|\.\s)\s*["']?([\p{L}_][\p{L}\p{N}_ -]{0,40}?)["']?\s*[:=]\s*((?:[^\n,;}.]|\.(?!\s|$)){1,500})/gu,
    );
    let found = 0;
    for (const [, name = '', text = ''] of [...pairs].slice(0, ITEMS_MAX)) {
      const part = new SourceText(text.trim().replace(/^["']|["'.]+$/g, ''));
      const own = schema.additionalProperties === undefined || schema.additionalProperties === true;
      const filled = own
        ? readPlain(part.text)
        : this.fill(schema.additionalProperties, NAMELESS, part, depth + 1);
      if (filled.found === 0) continue;
      define(value, name.trim(), filled.value);
      found += filled.found;
    }
    return found;
  }

  #fillArray(schema: JsonSchema, field: Field, source: SourceText, depth: number): Filled {
    const min = numberOf(schema, 'minItems') ?? 0;
    const max = Math.min(numberOf(schema, 'maxItems') ?? ITEMS_MAX, Math.max(ITEMS_MAX, min));
    if (min > MIN_ITEMS_MAX) throw refuseSchema(`an array of ${min} is over the limit of ${MIN_ITEMS_MAX}`);
    const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const items = fixed.map((item) => this.fill(item, field, source, depth + 1));
    if (schema.items !== false && !this.#recurs(schema.items))
      for (const item of this.#following(schema.items, () =>
        this.#itemsFromText(schema.items ?? {}, field, source, depth),
      ))
        if (items.length < max && !(schema.uniqueItems === true && has(items, item))) items.push(item);
    while (items.length < min) items.push(this.#fillerItem(schema, items, field, source, depth));
    this.#checkCount(schema, 'Items', items.length);
    return {
      value: items.map(({ value }) => value),
      found: items.reduce((sum, item) => sum + item.found, 0),
    };
  }

  #itemsFromText(items: unknown, field: Field, source: SourceText, depth: number): Filled[] {
    const schema = resolveSchema(items, this.#root, depth + 1);
    const alternatives = alternativesOf(schema);
    if (alternatives) {
      const something = alternatives.find(
        (one) => typeOf(resolveSchema(one, this.#root, depth + 1)) !== 'null',
      );
      return something === undefined ? [] : this.#itemsFromText(something, field, source, depth + 1);
    }
    if ('const' in schema) return [];
    if (Array.isArray(schema.enum))
      return schema.enum
        .filter((one) => chooseValue([one], source).found)
        .map((value) => ({ value, found: 1 }) as Filled);
    switch (typeOf(schema)) {
      case 'number':
      case 'integer': {
        const integer = typeOf(schema) === 'integer';
        const numbers = source.numbers().filter(({ value }) => fitsNumber(schema, integer, value));
        return numbers.map((number) => ({ value: source.take(number), found: 1 }));
      }
      case 'string':
      case null:
        return listIn(source, field)
          .map((text) =>
            leaf(fillString(schema, NAMELESS, new SourceText(text), { ...this.#context, plainText: text })),
          )
          .filter((_, index, all) => index < ITEMS_MAX && all.length > 0)
          .map((filled) => ({ ...filled, found: 1 }));
      case 'object':
        return this.#objectsInParts(schema, source, depth);
      default:
        return [];
    }
  }

  /** One object for each line, clause or sentence that gives at least half of what the object needs. */
  #objectsInParts(schema: JsonSchema, source: SourceText, depth: number): Filled[] {
    const needed = Array.isArray(schema.required) ? schema.required.length : 1;
    const filled = partsOf(source.text)
      .slice(0, ITEMS_MAX)
      .map((part) => this.fill(schema, NAMELESS, new SourceText(part), depth + 1))
      .filter(({ found }) => found >= Math.max(1, needed / 2));
    if (filled.length > 0) return filled;
    const whole = this.fill(schema, NAMELESS, source, depth + 1);
    return whole.found > 0 ? [whole] : [];
  }

  /** An element that only the schema asks for; different from the others where they must be. */
  #fillerItem(schema: JsonSchema, items: Filled[], field: Field, source: SourceText, depth: number): Filled {
    const item = this.fill(schema.items ?? {}, field, source, depth + 1);
    if (schema.uniqueItems !== true || !has(items, item)) return { ...item, found: 0 };
    const resolved = resolveSchema(schema.items ?? {}, this.#root, depth + 1);
    const options = Array.isArray(resolved.enum)
      ? (resolved.enum as Json[])
      : numbered(item.value, items.length);
    const value = options.find((one) => !has(items, { value: one, found: 0 }));
    if (value === undefined) throw refuseSchema('it has fewer values than "minItems" asks for');
    return { value, found: 0 };
  }

  #checkCount(schema: JsonSchema, what: 'Items' | 'Properties', count: number): void {
    const min = numberOf(schema, `min${what}`);
    const max = numberOf(schema, `max${what}`);
    if (min !== undefined && count < min)
      throw refuseSchema(`the text does not give ${min} ${what.toLowerCase()}`);
    if (max !== undefined && count > max)
      throw refuseSchema(`it needs more than its own ${max} ${what.toLowerCase()}`);
  }
}

function leaf({ value, found }: { value: Json; found: boolean }): Filled {
  return { value, found: found ? 1 : 0 };
}

/** `__proto__` is a name like any other here. */
function define(target: Record<string, Json>, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

function has(items: readonly Filled[], item: Filled): boolean {
  const written = JSON.stringify(item.value);
  return items.some(({ value }) => JSON.stringify(value) === written);
}

function numbered(value: Json, count: number): Json[] {
  if (typeof value === 'string') return [`${value} ${count + 1}`];
  return typeof value === 'number' ? Array.from({ length: count + 1 }, (_, index) => value + index + 1) : [];
}

/** A value as it stands: a number, true, false, null or a text. */
function readPlain(text: string): Filled {
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return { value: Number(text), found: 1 };
  if (/^(?:true|false)$/i.test(text)) return { value: text.toLowerCase() === 'true', found: 1 };
  return { value: text, found: text === '' ? 0 : 1 };
}

/** The things listed in a text: after the field's name, after a colon, as bullets, or simply with commas. */
function listIn(source: SourceText, field: Field): string[] {
  const bullets = source.text.match(/^\s*(?:[-*•]|\d+[.)])\s+.+$/gmu);
  if (bullets && bullets.length > 1)
    return bullets.map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/u, '').trim());
  const after =
    field.spoken === ''
      ? null
      : new RegExp(
          `\\b${field.spoken}\\b[^:.\\n]{0,30}?(?::|\\bare\\b|\\binclude\\b|\\bis\\b)\\s*([^.\\n]+)`,
          'iu',
        );
  const listed =
    after?.exec(source.text)?.[1] ??
    /:\s*([^.\n]+)/.exec(source.text)?.[1] ??
    longestEnumeration(source.text);
  return listed === undefined ? [] : splitList(listed);
}

/** `red, green and blue` */
function longestEnumeration(text: string): string | undefined {
  const runs = text.match(
    /[\p{L}\p{N}'’-]+(?:\s[\p{L}\p{N}'’-]+)?(?:,\s*[\p{L}\p{N}'’-]+(?:\s[\p{L}\p{N}'’-]+)?)*,?\s+(?:and|or)\s+[\p{L}\p{N}'’-]+/gu,
  );
  return runs?.sort((a, b) => b.length - a.length)[0];
}

function splitList(text: string): string[] {
  return text
    .split(/,\s*(?:and\s+|or\s+)?|;\s*|\s+(?:and|or)\s+/)
    .map((item) => item.trim().replace(/^["'“]|["'”.!?]+$/g, ''))
    .filter((item) => item !== '');
}

function partsOf(text: string): string[] {
  return sentencesOf(text).flatMap((sentence) =>
    sentence.split(/;\s*|,\s*(?:and\s+)?(?=\p{Lu})|\s+and\s+(?=\p{Lu})/u),
  );
}
