// Strings for a schema: by format, by pattern, by what the field is called, and always within its lengths.
import { findExpression } from '../arithmetic/find-expression.ts';
import { textAfterInstruction } from '../rules/subject.ts';
import { type Field, isAbout } from './field.ts';
import { type JsonSchema, numberOf, refuseSchema, textOf } from './json-schema.ts';
import { CAPITALISED, type Found, type SourceText } from './source-text.ts';
import { formatCandidates, formatFiller } from './string-formats.ts';
import { parseTextPattern, type TextPattern } from './text-pattern.ts';

export interface FilledString {
  value: string;
  found: boolean;
}

export interface StringContext {
  now: Date;
  /** The answer to what was said. */
  freeText: string;
  /** What to write into other fields where the text has nothing. */
  plainText: string;
  /** A field that asks for an answer gets `freeText` at once. */
  answering: boolean;
}

const LENGTH_MAX = 10_000;

const ANSWER_WORDS = [
  'answer',
  'reply',
  'response',
  'summary',
  'explanation',
  'reasoning',
  'output',
  'result',
  'solution',
  'description',
  'comment',
  'greeting',
];
const WHOLE_TEXT_WORDS = [
  'query',
  'text',
  'input',
  'content',
  'message',
  'prompt',
  'question',
  'body',
  'q',
  'search',
  'sentence',
];
const TOPIC_WORDS = ['topic', 'subject', 'keyword', 'term'];
const NAME_WORDS = [
  'name',
  'person',
  'author',
  'customer',
  'recipient',
  'user',
  'company',
  'product',
  'title',
  'country',
];
const PLACE_WORDS = [
  'location',
  'room',
  'city',
  'place',
  'address',
  'region',
  'state',
  'town',
  'destination',
  'origin',
  'where',
  'country',
  'departure',
  'arrival',
];
const ID_WORDS = ['id', 'code', 'sku', 'ticket', 'reference', 'number', 'identifier', 'flight', 'phone'];
const SUM_WORDS = ['expression', 'formula', 'equation', 'calculation', 'math'];
const DATE_WORDS = ['date', 'day', 'when', 'birthday', 'deadline'];
const TIME_WORDS = ['time', 'hour'];

const ID = /(?<![\p{L}\p{N}_-])#?([\p{L}_]*[-_]?\d[\p{L}\p{N}_-]*)/gu;
const CALLED =
  /\b(?:called|named|name is|name's|titled|entitled|i am|i'm|call me)\s+["“]?(\p{Lu}[\p{L}\p{N}'’-]*(?:\s+\p{Lu}[\p{L}\p{N}'’-]*){0,3})/giu;
const PLACE = String.raw`\s+(?:the\s+)?(${CAPITALISED}(?:[\s,]+(?:(?:of|de|la|el)\s+)?${CAPITALISED}){0,3})`;
const PLACE_SPOKEN_SMALL =
  /\b(?:in|at|near|for)\s+(?:the\s+)?([\p{Ll}]{3,}(?:\s+city)?)(?=\s*(?:[?.!,]|$|\b(?:today|now|tomorrow|please|right|this|in|on|at|and|with)\b))/giu;
const TOPIC = /\b(?:about|on|regarding|for|concerning)\s+(.{2,80}?)(?=[?.!,;\n]|$)/giu;

export function fillString(
  schema: JsonSchema,
  field: Field,
  source: SourceText,
  context: StringContext,
): FilledString {
  const pattern = patternOf(schema);
  const fits = (value: string) => fitsString(schema, pattern, value);
  const candidate = candidatesFor(schema, field, source, context).find(
    ({ value }) => value !== '' && fits(value),
  );
  if (candidate) return { value: source.take(candidate), found: true };
  const standard = textOf(schema, 'default');
  if (standard !== undefined && fits(standard)) return { value: standard, found: false };
  return { value: filler(schema, pattern, context, fits), found: false };
}

/** null: no pattern, or one beside a format that says the same and is not understood here. */
function patternOf(schema: JsonSchema): TextPattern | null {
  const source = textOf(schema, 'pattern');
  if (source === undefined) return null;
  const pattern = parseTextPattern(source);
  if (pattern === null && formatFiller(schema, new Date(0)) === null)
    throw refuseSchema(
      `the pattern ${JSON.stringify(source)} goes beyond literals, classes, groups and counts`,
    );
  return pattern;
}

function fitsString(schema: JsonSchema, pattern: TextPattern | null, value: string): boolean {
  const length = [...value].length;
  if (length < (numberOf(schema, 'minLength') ?? 0)) return false;
  if (length > (numberOf(schema, 'maxLength') ?? LENGTH_MAX)) return false;
  return pattern === null || pattern.matches(value);
}

/** Best first. */
function candidatesFor(
  schema: JsonSchema,
  field: Field,
  source: SourceText,
  context: StringContext,
): Found<string>[] {
  const formatted = formatCandidates(schema, source, context.now);
  if (formatted !== null) return formatted;
  if (context.answering && isAbout(field, ANSWER_WORDS, 'name')) return [whole(context.freeText)];
  return [
    ...labelled(field, source),
    ...ofKind(field, source, context),
    ...source.quotations(),
    ...anyWord(schema, source),
  ];
}

/** `city: Oslo`, `the city is Oslo`. */
function labelled(field: Field, source: SourceText): Found<string>[] {
  if (field.spoken === '') return [];
  const label = new RegExp(
    `\\b${field.spoken}\\b\\s*(?:\\bis\\b|\\bwas\\b|[:=])\\s*["“']?([^,;.!?"”\\n]+)`,
    'giu',
  );
  return source.find(label).map((found) => trimmed(found, /(?:\s+(?:and|but|with)\b.*|\s+)$/i));
}

function ofKind(field: Field, source: SourceText, context: StringContext): Found<string>[] {
  for (const where of ['name', 'anywhere'] as const) {
    if (isAbout(field, SUM_WORDS, where)) return sum(source);
    if (isAbout(field, PLACE_WORDS, where)) return places(field, source);
    if (isAbout(field, DATE_WORDS, where))
      return formatCandidates({ format: 'date' }, source, context.now) ?? [];
    if (isAbout(field, TIME_WORDS, where)) return source.find(/\b(\d{1,2}(?::\d{2})?\s*(?:[ap]m)?)\b/giu);
    if (isAbout(field, ['email', 'mail'], where))
      return formatCandidates({ format: 'email' }, source, context.now) ?? [];
    if (isAbout(field, ['url', 'link', 'website'], where))
      return formatCandidates({ format: 'uri' }, source, context.now) ?? [];
    if (isAbout(field, TOPIC_WORDS, where)) return [...source.quotations(), ...source.find(TOPIC)];
    if (isAbout(field, WHOLE_TEXT_WORDS, where)) return wholeTexts(source);
    if (isAbout(field, ID_WORDS, where)) return source.find(ID);
    if (isAbout(field, NAME_WORDS, where))
      return [...source.find(CALLED), ...source.quotations(), ...source.names()];
  }
  return source.names();
}

function places(field: Field, source: SourceText): Found<string>[] {
  const preposition = isAbout(field, ['destination', 'to', 'arrival'], 'name')
    ? 'to'
    : isAbout(field, ['origin', 'from', 'departure'], 'name')
      ? 'from'
      : 'in|at|near|for|to|from';
  const capitalised = source.find(new RegExp(`\\b(?:${preposition})${PLACE}`, 'gu'));
  const tidy = capitalised.map((found) => trimmed(found, /['’]s$|[.,'’-]+$/));
  return [...tidy, ...source.names(), ...source.find(PLACE_SPOKEN_SMALL)];
}

function sum(source: SourceText): Found<string>[] {
  const found = findExpression(source.text);
  return found === null ? [] : [whole(found.expression)];
}

function wholeTexts(source: SourceText): Found<string>[] {
  const brought = textAfterInstruction(source.text);
  return [...source.quotations(), ...(brought === null ? [] : [whole(brought)]), whole(source.text.trim())];
}

/** Where only a pattern says what is wanted, any word of the text may be it. */
function anyWord(schema: JsonSchema, source: SourceText): Found<string>[] {
  return 'pattern' in schema ? source.find(/[^\s,;!?"“”()]+[^\s,;.!?"“”()]/gu) : [];
}

function filler(
  schema: JsonSchema,
  pattern: TextPattern | null,
  context: StringContext,
  fits: (value: string) => boolean,
): string {
  const samples = pattern === null ? [] : [pattern.sample(), padded(schema, pattern.sample())];
  const formatted = formatFiller(schema, context.now);
  const plain = formatted === null && pattern === null ? [withinLengths(schema, context.plainText)] : [];
  const value = [...(formatted === null ? [] : [formatted]), ...samples, ...plain].find(fits);
  if (value === undefined) throw refuseSchema('no text fits its pattern, format and lengths together');
  return value;
}

/** Cut or repeated until the lengths are kept. */
function withinLengths(schema: JsonSchema, text: string): string {
  const min = numberOf(schema, 'minLength') ?? 0;
  const max = numberOf(schema, 'maxLength') ?? LENGTH_MAX;
  if (min > LENGTH_MAX) throw refuseSchema(`a text of ${min} characters is over the limit of ${LENGTH_MAX}`);
  const characters = [...text].slice(0, max);
  while (characters.length < min) characters.push('.');
  return characters.join('');
}

/** For an open-ended pattern such as `^[a-z]+$`: its last character again. */
function padded(schema: JsonSchema, sample: string): string {
  const missing = (numberOf(schema, 'minLength') ?? 0) - [...sample].length;
  return missing > 0 && missing <= LENGTH_MAX ? sample + ([...sample].at(-1) ?? 'a').repeat(missing) : sample;
}

function trimmed(found: Found<string>, tail: RegExp): Found<string> {
  const value = found.value.replace(tail, '').trim();
  return { value, start: found.start, end: found.start + value.length };
}

/** A text that takes no part of the source away from other fields. */
function whole(value: string): Found<string> {
  return { value, start: 0, end: 0 };
}
