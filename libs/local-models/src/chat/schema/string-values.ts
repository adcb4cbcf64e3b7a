// Strings for a schema: by format, else beside the field's name, else of the field's kind, else any that fits.
import { findExpression } from '../arithmetic/find-expression.ts';
import { textAfterInstruction } from '../rules/subject.ts';
import { type Field, isAbout } from './field.ts';
import { type JsonSchema, numberOf } from './json-schema.ts';
import { CAPITALISED, type Found, type SourceText } from './source-text.ts';

export interface StringContext {
  now: Date;
  /** The answer to what was said. */
  freeText: string;
  /** What to write into fields for which the text has nothing. */
  plainText: string;
  /** A field that asks for an answer gets `freeText` at once. */
  answering: boolean;
}

type Find = (source: SourceText, field: Field, now: Date) => Found<string>[];

const FILLER_LENGTH_MAX = 10_000;
const DAY_MS = 86_400_000;
const MONTH = '(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\\.?';
const DATE = new RegExp(
  String.raw`\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?${MONTH},?\s+\d{4}|${MONTH}\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}|today|tomorrow|yesterday)\b`,
  'gi',
);
const RELATIVE_DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 };
const CLOCK = /\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b/g;
const WORD = /[^\s,;!?"“”()<>]+[^\s,;:.!?"“”()<>]/gu;
const ID = /(?<![\p{L}\p{N}_-])#?([\p{L}_]*[-_]?\d[\p{L}\p{N}_-]*)/gu;
const CALLED =
  /\b(?:called|named|name is|name's|titled|entitled|i am|i'm|call me)\s+["“]?(\p{Lu}[\p{L}\p{N}'’-]*(?:\s+\p{Lu}[\p{L}\p{N}'’-]*){0,3})/giu;
const PLACE = String.raw`\s+(?:the\s+)?(${CAPITALISED}(?:[\s,]+(?:(?:of|de|la|el)\s+)?${CAPITALISED}){0,3})`;
const PLACE_IN_LOWER_CASE =
  /\b(?:in|at|near|for)\s+(?:the\s+)?([\p{Ll}]{3,}(?:\s+city)?)(?=\s*(?:[?.!,]|$|\b(?:today|now|tomorrow|please|right|this|in|on|at|and|with)\b))/giu;

interface Format {
  /** Finds values as the format writes them. */
  find: Find;
  /** Stands where the text has none; without it the library generates one. */
  filler?: (now: Date) => string;
}

const findWords: Find = (source) => source.find(WORD);
const timeOf = (now: Date) => now.toISOString().slice(11, 19);
const URI: Format = { find: findWords, filler: () => 'https://example.com/' };
const FORMATS: ReadonlyMap<unknown, Format> = new Map<string, Format>([
  [
    'date',
    { find: (source, _, now) => findDates(source, now), filler: (now) => now.toISOString().slice(0, 10) },
  ],
  ['date-time', { find: findDateTimes, filler: (now) => now.toISOString() }],
  ['time', { find: (source) => findTimes(source, 'Z'), filler: (now) => `${timeOf(now)}Z` }],
  ['local-time', { find: (source) => findTimes(source, ''), filler: timeOf }],
  ['email', { find: findWords, filler: () => 'nobody@example.com' }],
  ['uri', URI],
  ['url', URI],
  ['uuid', { find: findWords }],
  ['ipv4', { find: findWords }],
  ['ipv6', { find: findWords }],
  [
    'hostname',
    {
      find: (source) => source.find(WORD).filter(({ value }) => value.includes('.')),
      filler: () => 'example.com',
    },
  ],
  ['duration', { find: findWords, filler: () => 'PT0S' }],
]);

const words = (text: string) => text.split(' ');
const ANSWER_WORDS = words(
  'answer reply response summary explanation reasoning output result solution comment',
);

/** Words of a field's name, and where a text has what such a field is about. The first row that fits counts. */
const KINDS: readonly (readonly [readonly string[], Find])[] = [
  [words('expression formula equation calculation math'), findExpressions],
  [
    words('location room city place address region state town destination origin country departure arrival'),
    findPlaces,
  ],
  [words('date day when birthday deadline'), (source, _, now) => findDates(source, now)],
  [words('email mail'), (source) => source.find(WORD).filter(({ value }) => value.includes('@'))],
  [words('url link website'), (source) => source.find(WORD).filter(({ value }) => /^https?:/i.test(value))],
  [words('query text input content message prompt question body q search sentence'), findWholeTexts],
  [words('id code sku ticket reference number identifier flight phone'), (source) => source.find(ID)],
  [
    words('name person author customer recipient user company product title'),
    (source) => [...source.find(CALLED), ...source.quotations(), ...source.names()],
  ],
];

/** Candidates from the text, best first. */
export function stringsFor(
  schema: JsonSchema,
  field: Field,
  source: SourceText,
  { now, answering, freeText }: StringContext,
): Found<string>[] {
  const format = FORMATS.get(schema.format);
  if (format) return format.find(source, field, now);
  if (answering && isAbout(field, ANSWER_WORDS)) return [whole(freeText)];
  const find = KINDS.find(([about]) => isAbout(field, about))?.[1] ?? ((text) => text.names());
  return [
    ...findLabelled(source, field),
    ...find(source, field, now),
    ...source.quotations(),
    ...('pattern' in schema ? source.find(WORD) : []),
  ];
}

/** What may stand for a string of which the text says nothing. */
export function stringFiller(schema: JsonSchema, { now, plainText }: StringContext): string | undefined {
  const format = FORMATS.get(schema.format);
  if (format) return format.filler?.(now);
  const minLength = Math.min(numberOf(schema, 'minLength') ?? 0, FILLER_LENGTH_MAX);
  const maxLength = Math.min(numberOf(schema, 'maxLength') ?? FILLER_LENGTH_MAX, FILLER_LENGTH_MAX);
  return [...plainText].slice(0, maxLength).join('').padEnd(minLength, '.');
}

function findDates(source: SourceText, now: Date): Found<string>[] {
  return source.find(DATE).flatMap((found) => {
    const days = RELATIVE_DAYS[found.value.toLowerCase()];
    const plain = found.value.replace(/(\d)(?:st|nd|rd|th)\b|\bof\b/gi, '$1');
    const date = new Date(days === undefined ? `${plain} UTC` : now.getTime() + days * DAY_MS);
    return Number.isNaN(date.getTime()) ? [] : [{ ...found, value: date.toISOString().slice(0, 10) }];
  });
}

function findDateTimes(source: SourceText, _: Field, now: Date): Found<string>[] {
  const clock = findTimes(source, 'Z')[0]?.value ?? '00:00:00Z';
  const days = findDates(source, now).map((found) => ({ ...found, value: `${found.value}T${clock}` }));
  return [...source.find(WORD), ...days];
}

function findTimes(source: SourceText, zone: string): Found<string>[] {
  return source.find(CLOCK).map((found) => {
    const parts = [...found.value.split(':'), '00'].slice(0, 3).map((part) => part.padStart(2, '0'));
    return { ...found, value: `${parts.join(':')}${zone}` };
  });
}

/** `city: Oslo`, `the city is Oslo`. */
function findLabelled(source: SourceText, { spoken }: Field): Found<string>[] {
  if (spoken === '') return [];
  const label = String.raw`\b${spoken}\b\s*(?:\bis\b|\bwas\b|[:=])\s*["“']?([^,;.!?"”\n]+)`;
  return source
    .find(new RegExp(label, 'giu'))
    .map((found) => shortened(found, /(?:\s+(?:and|but|with)\b.*|\s+)$/i));
}

function findPlaces(source: SourceText, field: Field): Found<string>[] {
  let preposition = 'in|at|near|for|to|from';
  if (isAbout(field, ['destination', 'to', 'arrival'])) preposition = 'to';
  else if (isAbout(field, ['origin', 'from', 'departure'])) preposition = 'from';
  const capitalised = source.find(new RegExp(`\\b(?:${preposition})${PLACE}`, 'gu'));
  return [
    ...capitalised.map((found) => shortened(found, /['’]s$|[.,'’-]+$/)),
    ...source.names(),
    ...source.find(PLACE_IN_LOWER_CASE),
  ];
}

function findExpressions(source: SourceText): Found<string>[] {
  const found = findExpression(source.text);
  return found === null ? [] : [whole(found.expression)];
}

function findWholeTexts(source: SourceText): Found<string>[] {
  const brought = textAfterInstruction(source.text);
  return [...source.quotations(), ...(brought === null ? [] : [whole(brought)]), whole(source.text.trim())];
}

function shortened(found: Found<string>, tail: RegExp): Found<string> {
  const value = found.value.replace(tail, '').trim();
  return { value, start: found.start, end: found.start + value.length };
}

/** A text that takes nothing away from other fields. */
function whole(value: string): Found<string> {
  return { value, start: 0, end: 0 };
}
