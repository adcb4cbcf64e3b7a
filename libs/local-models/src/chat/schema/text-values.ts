// Values that a text gives to the properties of a JSON schema: those next to a property's name, else any of the right
// type.
import { type Schema as CheckedSchema, validate } from '@cfworker/json-schema';
import { sentencesOf } from '../../text/sentences.ts';
import { identifierStems, isStopWord, keywordsOf, stem } from '../../text/words.ts';
import { findExpression } from '../arithmetic.ts';
import { QUOTED } from '../rules/quotations.ts';
import type { Json, JsonSchema } from './json-schema.ts';

export const DRAFT = '2020-12';
/** Characters of a text that are searched. */
const LENGTH_SEARCHED_MAX = 8_000;
/** Characters of a value. */
const VALUE_LENGTH_MAX = 1_000;
/** Values of one kind that are tried. */
const CANDIDATES_MAX = 500;

const NUMBER = /(?<![\p{L}\p{N}_.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\d_]|[.-]\d)/gu;
const WORD = /[^\s,;!?"“”()<>]+[^\s,;:.!?"“”()<>]/gu;
const CAPITALISED = String.raw`\p{Lu}[\p{L}\p{N}'’-]*`;
const NAME = String.raw`${CAPITALISED}(?:\s${CAPITALISED})*`;
/** `in Boston, MA` */
const PLACE = String.raw`(?<=\b(?:[Aa]t|[Ff]rom|[Ii]n|[Nn]ear|[Tt]o)\s)${CAPITALISED}(?:,?\s${CAPITALISED})*`;
/** Names at the beginning of a sentence come last: most are ordinary words. */
const NAMES = [String.raw`${PLACE}|(?<=(?:^|\s)[^\p{Lu}\s.!?:]+\s)${NAME}`, NAME].map(
  (pattern) => new RegExp(pattern, 'gu'),
);
const NEGATION = /\b(?:not|no|never|without|off|false)\b|n['’]t\b/i;
const ANSWERS = new Set(['answer', 'reply', 'response', 'result', 'output', 'summary', 'solution'].map(stem));
const CALCULATIONS = new Set(['expression', 'formula', 'equation', 'calculation'].map(stem));

export class TextValues {
  readonly #text: string;
  readonly #reply: string | undefined;
  readonly #keywords: ReadonlySet<string>;
  readonly #sentences: readonly { readonly text: string; readonly keywords: readonly string[] }[];
  readonly #words: readonly string[];
  readonly #sum: ReturnType<typeof findExpression>;
  /** By the name of a property and its schema. */
  readonly #known = new Map<string, WeakMap<JsonSchema, Json | undefined>>();
  /** Names of the properties of the current document that the text gave; the text as a whole does not count. */
  readonly found = new Set<string>();
  /** Values of the current document that the text did not give. */
  invented = 0;
  // Unused by the current document.
  #numbers: number[] = [];
  #strings: string[] = [];

  /** @param reply - the value of a property that asks for an answer; undefined: there is no such property */
  constructor(text: string, reply: string | undefined) {
    this.#text = text.slice(0, LENGTH_SEARCHED_MAX);
    this.#reply = reply;
    this.#sentences = sentencesOf(this.#text).map((one) => ({ text: one, keywords: keywordsOf(one) }));
    this.#keywords = new Set(this.#sentences.flatMap(({ keywords }) => keywords));
    this.#words = (this.#text.match(WORD) ?? []).slice(0, CANDIDATES_MAX);
    this.#sum = findExpression(this.#text);
  }

  beginDocument(): void {
    this.found.clear();
    this.invented = 0;
    this.#numbers = numbersIn(this.#text);
    const quoted = [...this.#text.matchAll(new RegExp(QUOTED, 'gu'))].flatMap((match) => match.slice(1));
    const names = NAMES.flatMap((pattern) => this.#text.match(pattern) ?? []);
    const strings = new Set([...quoted, ...names].filter((one) => one !== undefined && !isStopWord(one)));
    this.#strings = [...strings].slice(0, CANDIDATES_MAX) as string[];
  }

  /** A fitting value that the text gives to the property by its name. */
  named(schema: JsonSchema, name: string): Json | undefined {
    const known = this.#known.get(name) ?? new WeakMap<JsonSchema, Json | undefined>();
    this.#known.set(name, known);
    if (!known.has(schema)) known.set(schema, firstFitting(this.#namedValues(schema, name), schema));
    return known.get(schema);
  }

  /** Replaces a generated value of the document. */
  replace(generated: Json, schema: JsonSchema, name: string): Json {
    const value = this.named(schema, name) ?? this.#unnamed(generated, schema, name);
    if (value !== undefined) this.found.add(name);
    else if (generated === null || typeof generated === 'object') return generated;
    else this.invented += 1;
    return value ?? this.#filler(generated, schema);
  }

  *#namedValues(schema: JsonSchema, name: string): Iterable<Json> {
    if (Array.isArray(schema.enum)) yield* schema.enum.filter((value) => this.#mentions(String(value)));
    const beside = this.#besideName(name);
    if (beside !== undefined) {
      yield phraseAt(beside);
      yield* numbersIn(beside).slice(0, 1);
      const list = listAt(beside);
      yield list;
      yield list.map(Number);
    }
    if ('format' in schema || 'pattern' in schema) yield* this.#words;
    const words = identifierStems(name).filter((word) => !isStopWord(word));
    const sentence = this.#sentences.find(({ keywords }) => keywords.some((word) => words.includes(word)));
    if (sentence !== undefined) yield !NEGATION.test(sentence.text);
  }

  /** An unused value of the same type. */
  #unnamed(generated: Json, schema: JsonSchema, name: string): Json | undefined {
    if ('default' in schema) return undefined;
    const asked = firstFitting(this.#askedValues(name), schema);
    if (asked !== undefined) return asked;
    const left = { number: this.#numbers, string: this.#strings }[typeof generated as string] ?? [];
    const value = firstFitting<number | string>(left, schema);
    if (value !== undefined) left.splice(left.indexOf(value as never), 1);
    return value;
  }

  /** The reply, and the sum that the text asks for. */
  *#askedValues(name: string): Iterable<Json> {
    const stems = identifierStems(name);
    const sum = this.#sum;
    if (sum !== null && stems.some((one) => CALCULATIONS.has(one))) yield sum.expression;
    if (this.#reply === undefined || !(name === '' || stems.some((one) => ANSWERS.has(one)))) return;
    yield this.#reply;
    if (sum !== null && Number.isFinite(sum.result)) yield sum.result;
  }

  /** The value if the text gives none. */
  #filler(generated: Json, schema: JsonSchema): Json {
    const plain = { boolean: false, number: 0, string: this.#text.slice(0, VALUE_LENGTH_MAX).trim() }[
      typeof generated as string
    ];
    return plain !== undefined && !('default' in schema) && fits(plain, schema) ? plain : generated;
  }

  #mentions(value: string): boolean {
    const words = keywordsOf(value.replace(/[_-]/g, ' '));
    return words.length > 0 && words.every((word) => this.#keywords.has(word));
  }

  /** What follows `city: ` or `the city is`, to the end of the line. */
  #besideName(name: string): string | undefined {
    const parts = name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').match(/[\p{L}\p{N}]+/gu);
    if (parts === null) return undefined;
    const label = String.raw`(?<![\p{L}\p{N}])${parts.join('[\\s_-]*')}\s*(?:[:=]|\bis\b|\bare\b)\s*(\S.{0,${VALUE_LENGTH_MAX}})`;
    return new RegExp(label, 'iu').exec(this.#text)?.[1];
  }
}

function firstFitting<T extends Json>(values: Iterable<T>, schema: JsonSchema): T | undefined {
  for (const value of values) if (fits(value, schema)) return value;
  return undefined;
}

function fits(value: Json, schema: JsonSchema): boolean {
  try {
    return value !== '' && validate(value, schema as CheckedSchema, DRAFT).valid;
  } catch {
    // A reference leads out of this part of the schema.
    return false;
  }
}

function numbersIn(text: string): number[] {
  return (text.match(NUMBER) ?? [])
    .slice(0, CANDIDATES_MAX)
    .map((number) => Number(number.replaceAll(',', '')));
}

function phraseAt(text: string): string {
  const [phrase = ''] = text.replace(/^["“']/, '').split(/["”;]|[,.!?](?:\s|$)|\s(?:and|but|with)\s/, 1);
  return phrase.trim();
}

function listAt(text: string): string[] {
  const [list = ''] = text.split(/[.!?;](?:\s|$)/, 1);
  return list.split(/,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+/).map((item) => item.replace(/^["“]|["”]$/g, ''));
}
