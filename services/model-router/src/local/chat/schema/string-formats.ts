// JSON Schema's string formats: how each is found in a text, and what stands for it where there is none.
import type { JsonSchema } from './json-schema.ts';
import { textOf } from './json-schema.ts';
import type { Found, SourceText } from './source-text.ts';

interface Format {
  find: (source: SourceText, now: Date) => Found<string>[];
  filler: (now: Date) => string;
}

const DAY_MS = 86_400_000;
const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
);
const MONTH = MONTHS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join('|');

const ISO_DATE = /\b(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b/g;
const ISO_DATE_TIME = /\b(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)/g;
const DAY_MONTH_YEAR = new RegExp(
  String.raw`\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:${MONTH})\.?,?\s+\d{4}\b`,
  'gi',
);
const MONTH_DAY_YEAR = new RegExp(String.raw`\b(?:${MONTH})\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}\b`, 'gi');
const RELATIVE_DAY = /\b(?:today|tomorrow|yesterday)\b/gi;
const RELATIVE_DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 };
const CLOCK = /\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b/g;

const byPattern = (pattern: RegExp) => (source: SourceText) => source.find(pattern);

const FORMATS: Readonly<Record<string, Format>> = {
  date: { find: findDates, filler: isoDate },
  'date-time': { find: findDateTimes, filler: (now) => now.toISOString() },
  // With an offset, as RFC 3339 has it, and without, for schemas whose pattern wants none.
  time: {
    find: (source) =>
      findTimes(source).flatMap((found) => [found, { ...found, value: found.value.slice(0, -1) }]),
    filler: (now) => `${now.toISOString().slice(11, 19)}Z`,
  },
  email: {
    find: byPattern(/\b([\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,})\b/g),
    filler: () => 'nobody@example.com',
  },
  uri: {
    find: byPattern(/\b(https?:\/\/[^\s"'<>)\]]*[^\s"'<>)\].,;!?])/gi),
    filler: () => 'https://example.com/',
  },
  uuid: {
    find: byPattern(/\b([\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12})\b/gi),
    filler: () => '00000000-0000-4000-8000-000000000000',
  },
  ipv4: {
    find: byPattern(
      /(?<![\d.])((?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d))(?![\d.])/g,
    ),
    filler: () => '192.0.2.1',
  },
  ipv6: {
    find: byPattern(/(?<![\da-f:])((?:[\da-f]{1,4}:){7}[\da-f]{1,4})(?![\da-f:])/gi),
    filler: () => '2001:db8::1',
  },
  hostname: { find: byPattern(/\b((?:[a-z\d-]+\.)+[a-z]{2,})\b/gi), filler: () => 'example.com' },
  duration: {
    find: byPattern(/\b(P(?:\d+[YMWD])+(?:T(?:\d+[HMS])+)?|PT(?:\d+[HMS])+)\b/g),
    filler: () => 'PT0S',
  },
};

const SAME_AS: Readonly<Record<string, string>> = {
  url: 'uri',
  iri: 'uri',
  'idn-email': 'email',
  'idn-hostname': 'hostname',
};

/** null when the schema has no format that is known here; an unknown format is a remark, as JSON Schema has it. */
export function formatCandidates(schema: JsonSchema, source: SourceText, now: Date): Found<string>[] | null {
  return formatOf(schema)?.find(source, now) ?? null;
}

export function formatFiller(schema: JsonSchema, now: Date): string | null {
  return formatOf(schema)?.filler(now) ?? null;
}

function formatOf(schema: JsonSchema): Format | undefined {
  const name = textOf(schema, 'format') ?? '';
  const known = SAME_AS[name] ?? name;
  return Object.hasOwn(FORMATS, known) ? FORMATS[known] : undefined;
}

function isoDate(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function findDates(source: SourceText, now: Date): Found<string>[] {
  const spelled = [...source.find(DAY_MONTH_YEAR), ...source.find(MONTH_DAY_YEAR)].flatMap((found) => {
    const date = readSpelledDate(found.value);
    return date === null ? [] : [{ ...found, value: date }];
  });
  const relative = source.find(RELATIVE_DAY).map((found) => ({
    ...found,
    value: isoDate(new Date(now.getTime() + (RELATIVE_DAYS[found.value.toLowerCase()] ?? 0) * DAY_MS)),
  }));
  return [...source.find(ISO_DATE).filter(({ value }) => isDate(value)), ...spelled, ...relative];
}

function findDateTimes(source: SourceText, now: Date): Found<string>[] {
  const exact = source.find(ISO_DATE_TIME).flatMap((found) => {
    const date = new Date(/(?:Z|[+-]\d{2}:\d{2})$/.test(found.value) ? found.value : `${found.value}Z`);
    return Number.isNaN(date.getTime()) ? [] : [{ ...found, value: date.toISOString() }];
  });
  const clock = findTimes(source)[0]?.value ?? '00:00:00Z';
  return [
    ...exact,
    ...findDates(source, now).map((found) => ({ ...found, value: `${found.value}T${clock}` })),
  ];
}

function findTimes(source: SourceText): Found<string>[] {
  return source.find(CLOCK).map((found) => {
    const [hours = '0', minutes = '0', seconds = '0'] = found.value.split(':');
    return {
      ...found,
      value: `${[hours, minutes, seconds].map((part) => part.padStart(2, '0')).join(':')}Z`,
    };
  });
}

function readSpelledDate(text: string): string | null {
  const month = MONTHS.findIndex((name) => new RegExp(`\\b${name.slice(0, 3)}`, 'i').test(text)) + 1;
  const year = /\b\d{4}\b/.exec(text)?.[0] ?? '';
  const day = /\b\d{1,2}(?!\d)/.exec(text)?.[0] ?? '';
  const date = `${year}-${String(month).padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isDate(date) ? date : null;
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && isoDate(date) === text;
}
