// Numbers for a schema: the one beside the field's name, else of the field's kind, else the next free one that fits.
import { findExpression } from '../arithmetic/find-expression.ts';
import { ArithmeticError, toNumber } from '../arithmetic/fraction.ts';
import { type Field, isAbout } from './field.ts';
import { type JsonSchema, numberOf, refuseSchema } from './json-schema.ts';
import type { Found, SourceText } from './source-text.ts';

const NEAR = String.raw`\s*(?:is|are|was|of|=|:|at|to)?\s*(?:about\s+)?\p{Sc}?\s*`;
/** At most 40 of them: a pattern that tries the rest of a longer run from each of its digits takes the square of it. */
const DIGITS = String.raw`(-?\d[\d,]{0,39}(?:\.\d{1,40})?)`;

/** Words that tell what a number is about, and the text around such a number. */
const KINDS: readonly { words: readonly string[]; pattern: RegExp }[] = [
  {
    words: ['age', 'years'],
    pattern: /\b(\d{1,3})(?=[\s-]*(?:years?|yrs?|y\/?o)\b)|\b(?:aged?)\s+(\d{1,3})\b/giu,
  },
  {
    words: ['price', 'cost', 'amount', 'total', 'budget', 'fee', 'salary', 'payment'],
    pattern:
      /(?<=\p{Sc}\s?)(\d[\d,]{0,39}(?:\.\d{1,40})?)|\b(\d[\d,]{0,39}(?:\.\d{1,40})?)(?=\s*(?:dollars?|euros?|pounds?|usd|eur|gbp|cents?)\b)/giu,
  },
  { words: ['temperature', 'degrees'], pattern: /(-?\d{1,40}(?:\.\d{1,40})?)(?=\s*(?:°|degrees?\b))/giu },
  {
    words: ['percent', 'percentage', 'rate'],
    pattern: /(-?\d{1,40}(?:\.\d{1,40})?)(?=\s*(?:%|percent\b))/giu,
  },
  { words: ['year'], pattern: /\b((?:1[5-9]|20)\d\d)\b/gu },
];

const RESULT_WORDS = ['answer', 'result', 'value', 'sum', 'product', 'total', 'solution', 'number'];

/** A probability about which the text says nothing. */
const UNDECIDED = 0.5;

export interface FilledNumber {
  value: number;
  found: boolean;
}

export function fillNumber(
  schema: JsonSchema,
  integer: boolean,
  field: Field,
  source: SourceText,
): FilledNumber {
  const fits = (value: number) => fitsNumber(schema, integer, value);
  const computed = isAbout(field, RESULT_WORDS, 'name') || field.name === '' ? computedIn(source) : null;
  if (computed !== null && fits(computed)) return { value: computed, found: true };
  const candidate = candidatesFor(field, source).find(({ value }) => fits(value));
  if (candidate) return { value: source.take(candidate), found: true };
  const standard = numberOf(schema, 'default');
  if (standard !== undefined && fits(standard)) return { value: standard, found: false };
  if (isAbout(field, ['confidence', 'probability'], 'name') && fits(UNDECIDED))
    return { value: UNDECIDED, found: false };
  return { value: smallestAllowed(schema, integer), found: false };
}

export function fitsNumber(schema: JsonSchema, integer: boolean, value: number): boolean {
  const { minimum, maximum, above, below, step } = boundsOf(schema);
  if (integer && !Number.isInteger(value)) return false;
  if (value < minimum || value > maximum || value <= above || value >= below) return false;
  return step === undefined || isMultiple(value, step);
}

/** What the text asks to be computed. */
function computedIn(source: SourceText): number | null {
  const found = findExpression(source.text);
  return found === null || found.result instanceof ArithmeticError ? null : toNumber(found.result);
}

function candidatesFor(field: Field, source: SourceText): Found<number>[] {
  const numbers = source.numbers();
  const at = (found: Found<string>[]) =>
    found.flatMap(({ start }) => numbers.filter((number) => number.start <= start && start < number.end));
  const named =
    field.spoken === '' ? [] : at(source.find(new RegExp(`\\b${field.spoken}s?${NEAR}${DIGITS}`, 'giu')));
  const counted =
    field.spoken === ''
      ? []
      : at(source.find(new RegExp(`${DIGITS}(?=\\s*${field.spoken.replace(/s$/, '')}s?\\b)`, 'giu')));
  const kind =
    KINDS.find(({ words }) => isAbout(field, words, 'name')) ??
    KINDS.find(({ words }) => isAbout(field, words));
  return [...named, ...counted, ...(kind ? at(source.find(kind.pattern)) : []), ...numbers];
}

function smallestAllowed(schema: JsonSchema, integer: boolean): number {
  const { minimum, maximum, above, below, step } = boundsOf(schema);
  const unit = step ?? 1;
  const low = Math.max(minimum, above);
  const high = Math.min(maximum, below);
  const aligned = (value: number) => Math.ceil(value / unit) * unit;
  const tried = [
    0,
    aligned(low),
    aligned(low) + unit,
    Math.floor(high / unit) * unit,
    (low + high) / 2,
    minimum,
    maximum,
  ];
  const value = tried.find((one) => Number.isFinite(one) && fitsNumber(schema, integer, one));
  if (value === undefined) throw refuseSchema('no number is within its bounds');
  return value;
}

function boundsOf(schema: JsonSchema) {
  return {
    minimum: numberOf(schema, 'minimum') ?? Number.NEGATIVE_INFINITY,
    maximum: numberOf(schema, 'maximum') ?? Number.POSITIVE_INFINITY,
    above: numberOf(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY,
    below: numberOf(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY,
    step: numberOf(schema, 'multipleOf'),
  };
}

/** As validators do it: the quotient is whole but for a rounding error. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}
