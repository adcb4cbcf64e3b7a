// The facts in a state: its fields (JSON, or lines of `key: value`) and its statements, as stems with negation.
import { sentencesOf } from '../text/sentences.ts';
import { identifierStems, keywordsOf, wordsOf } from '../text/words.ts';
import { numbersIn } from './numbers.ts';

export interface Field {
  /** Stems of the field's path: `order.totalAmount` -> order, total, amount. */
  path: string[];
  value: string | number | boolean;
}

interface Statement {
  stems: ReadonlySet<string>;
  negated: boolean;
}

export interface Facts {
  fields: Field[];
  statements: Statement[];
  /** The first number of each field and statement. */
  numbers: { stems: ReadonlySet<string>; value: number }[];
  /** The number of a state that has no other. */
  onlyNumber: number | null;
}

/** Maximum length of a state's texts that is read, and maximum values of a JSON state: a call may ask 300 questions. */
export const STATE_LENGTH_READ_MAX = 50_000;
const STATE_FIELDS_MAX = 2_000;
/** Values of a JSON state that are visited, with objects, lists and null. */
const STATE_VALUES_MAX = 10_000;
/** Characters of a key that are read, and stems of a path, the last kept: each field has its own path. */
const KEY_LENGTH_READ_MAX = 200;
const PATH_LENGTH_MAX = 50;
const STATEMENTS_MAX = 2_000;
const DEPTH_MAX = 50;

const NEGATION =
  /\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|cannot|isn|aren|wasn|weren|doesn|don|didn|won|can|couldn|hasn|haven|hadn|wouldn|shouldn)\b(?:['’]t\b)?/gi;
/** `can` and `don` are negations only as `can't` and `don't`. */
const SHORT_FORM = /^(?:isn|aren|wasn|weren|doesn|don|didn|won|can|couldn|hasn|haven|hadn|wouldn|shouldn)$/i;
const CLAUSE_END = /[;,]\s+|\s+(?:but|however|although|though|while|whereas)\s+/i;
const LABELLED = /^\s*[-*]?\s*([\p{L}][\p{L}\p{N} _-]{0,40}?)\s*[:=]\s*(\S.*)$/u;

export function factsOf(state: unknown): Facts {
  const reading: Reading = {
    fields: [],
    statements: [],
    lengthLeft: STATE_LENGTH_READ_MAX,
    valuesLeft: STATE_VALUES_MAX,
  };
  if (typeof state === 'string') addText(reading, read(reading, state));
  else addJson(reading, [], state, 0);
  const { fields, statements } = reading;
  const counted = [
    ...fields.flatMap(({ path, value }) =>
      typeof value === 'number' ? [{ stems: new Set(path), numbers: [value] }] : [],
    ),
    ...statements,
  ];
  const values = new Set(counted.flatMap(({ numbers }) => numbers));
  return {
    fields,
    statements,
    numbers: counted.flatMap(({ stems, numbers: [value] }) =>
      value === undefined ? [] : [{ stems, value }],
    ),
    onlyNumber: values.size === 1 ? ([...values][0] ?? null) : null,
  };
}

/** What was read of a state, and the remaining length and values that may be read. */
interface Reading {
  fields: Field[];
  statements: (Statement & { numbers: number[] })[];
  lengthLeft: number;
  valuesLeft: number;
}

/** Collapses runs of whitespace, since the patterns here take quadratic time in the length of a run. */
function read(reading: Reading, text: string): string {
  const part = text.slice(0, reading.lengthLeft);
  reading.lengthLeft -= part.length;
  return part.replace(/[^\S\n]+/g, ' ');
}

/** Whether the text has an odd number of negations. */
export function isNegated(text: string): boolean {
  const denials = (text.match(NEGATION) ?? []).filter((word) => !SHORT_FORM.test(word));
  return denials.length % 2 === 1;
}

function addText(reading: Reading, text: string): void {
  for (const line of text.split('\n')) {
    const [, label, value] = LABELLED.exec(line) ?? [];
    if (label && value && reading.fields.length < STATE_FIELDS_MAX)
      addField(reading, identifierStems(label), value.trim());
  }
  for (const sentence of sentencesOf(text))
    for (const clause of sentence.split(CLAUSE_END)) addStatement(reading, clause, []);
}

function addJson(reading: Reading, path: string[], value: unknown, depth: number): void {
  reading.valuesLeft -= 1;
  if (reading.fields.length >= STATE_FIELDS_MAX || depth > DEPTH_MAX) return;
  if (typeof value === 'object' && value !== null)
    // Not `Object.entries`, which reads all of an object of which 10,000 values are read.
    for (const key in value) {
      if (reading.valuesLeft <= 0) return;
      const inner = (value as Record<string, unknown>)[key];
      const step = Array.isArray(value) ? [] : identifierStems(key.slice(0, KEY_LENGTH_READ_MAX));
      addJson(reading, [...path, ...step].slice(-PATH_LENGTH_MAX), inner, depth + 1);
    }
  else if (typeof value === 'string') {
    const text = read(reading, value);
    addField(reading, path, text);
    for (const sentence of sentencesOf(text))
      for (const clause of sentence.split(CLAUSE_END)) addStatement(reading, clause, path);
  } else if (typeof value === 'number' || typeof value === 'boolean') addField(reading, path, value);
}

function addField({ fields }: Reading, path: string[], value: string | number | boolean): void {
  fields.push({ path, value: typeof value === 'string' ? typed(value) : value });
}

function addStatement({ statements }: Reading, text: string, path: string[]): void {
  if (text.trim() === '' || statements.length >= STATEMENTS_MAX) return;
  statements.push({
    stems: new Set([...path, ...keywordsOf(text)]),
    negated: isNegated(text),
    numbers: numbersIn(text),
  });
}

function typed(value: string): string | number | boolean {
  if (/^(?:true|yes)[.!]?$/i.test(value)) return true;
  if (/^(?:false|no)[.!]?$/i.test(value)) return false;
  const [number, ...more] = numbersIn(value);
  return number !== undefined && more.length === 0 && wordsOf(value).length <= 2 ? number : value;
}

/** Stems of the meaningful words, each once. */
export function meaningOf(text: string): string[] {
  return [...new Set(keywordsOf(text))];
}
