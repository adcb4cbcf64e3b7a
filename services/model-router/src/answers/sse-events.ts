// Reads and edits single server-sent events of a chat. Their text is latin1, one character per byte.
import { isJsonObject } from '../json/is-json-object.ts';
import { type Member, topLevelMembers } from '../json/json-members.ts';
import { ReportedError, UnusableAnswer } from '../makers/unusable-answer.ts';
import { type ChatChoice, choicesOf } from './chat-content.ts';

export const EVENT_END = /\r?\n\r?\n/;
/** The event name precedes its data. */
export const EVENT_NAMED_ERROR = /^event: ?error\b/m;

/** The members of an event that are read; each may be missing. Its strings are still latin1: one character per byte. */
export interface Chunk {
  id?: unknown;
  created?: unknown;
  model?: unknown;
  usage?: unknown;
  error?: unknown;
  x_groq?: { error?: unknown; usage?: unknown } | null;
}

/** The data of an event; null for an event without data, such as a comment, a name, a retry time or empty data. */
export function dataOf(event: string): string | null {
  const data = joinedData(event);
  return data.trim() === '' ? null : data;
}

function joinedData(event: string): string {
  if (event.startsWith('data:') && !event.includes('\n')) return event.slice('data:'.length);
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length)).join('\n');
}

/** An event without data as a comment: clients, such as OpenAI's, parse empty data as JSON and fail. */
export function withoutEmptyData(event: string): string {
  return event.replaceAll(/^data:[ \t]*$/gm, ':');
}

/** The JSON of an event, whose strings are latin1. @throws UnusableAnswer */
export function parseEvent(data: string): object {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw new UnusableAnswer('an event of the stream is not JSON', { cause });
  }
  if (isJsonObject(event)) return event;
  throw new UnusableAnswer('a stream event is not a JSON object');
}

/**
 * The JSON of an event that `parseEvent` has read, with its strings decoded. They cannot be decoded later: by then the
 * escapes (`\u00fc`) in them are characters beside the bytes.
 */
export function decodedEvent(data: string): object {
  return JSON.parse(Buffer.from(data, 'latin1').toString('utf8')) as object;
}

/**
 * Reads `error` at the top level, in a choice (OpenRouter) and in `x_groq`. Other places report no failure of the answer:
 * Azure's `content_filter_result` has an `error` when its filter did not run.
 * @throws ReportedError for an error event: a fault or a refusal inside a 200.
 */
export function refuseError(event: string, data: string): void {
  const isNamed = !event.startsWith('data:') && EVENT_NAMED_ERROR.test(event);
  if (!isNamed && !event.includes('"error"')) return;
  const chunk: Chunk = decodedEvent(data);
  if (isNamed) throw new ReportedError(chunk.error ?? chunk);
  for (const { error } of [chunk, ...choicesOf(chunk), chunk.x_groq ?? {}])
    if (isError(error)) throw new ReportedError(error);
}

function isError(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/**
 * The usage object of a chunk; null when it has none (`"usage":null` counts as none). Some makers only nest it: Moonshot in
 * its last choice, Groq in `x_groq`.
 */
export function usageOf({ usage, x_groq: groq }: Chunk, choices: readonly ChatChoice[]): object | null {
  return [usage, choices.at(-1)?.usage, groq?.usage].find(isJsonObject) ?? null;
}

/** Puts this usage into the event: replaces its own one (also `null`), or appends it as the last member. */
export function putUsage(event: string, usage: string): string {
  const own = usageMember(event);
  if (own) return event.slice(0, own.valueStart) + usage + event.slice(own.valueEnd);
  const end = event.lastIndexOf('}');
  return `${event.slice(0, end)},"usage":${usage}${event.slice(end)}`;
}

/** Position of the event's own `usage`, which readers of the stream look for, whatever its value. */
function usageMember(event: string): Member | null {
  if (!event.includes('"usage"')) return null;
  const data = event.search(/^data:/m);
  if (data < 0) return null;
  // JSON may continue over several lines of data; blanks keep every position.
  const bytes = Buffer.from(event.replaceAll(/^data:/gm, '     '), 'latin1');
  return topLevelMembers(bytes, data).get('usage') ?? null;
}
