// Reads and edits single server-sent events of a chat. Their text is latin1, one character per byte.
import { type Member, topLevelMembers } from '../json/json-members.ts';
import { ReportedError } from '../makers/unusable-answer.ts';
import { choicesOf } from './chat-content.ts';

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
  x_groq?: { error?: unknown } | null;
}

/** The data of an event; null for an event without data, such as a comment, a name or a retry time. */
export function dataOf(event: string): string | null {
  if (event.startsWith('data:') && !event.includes('\n')) return event.slice('data:'.length);
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? null : lines.map((line) => line.slice('data:'.length)).join('\n');
}

/**
 * Reads `error` at the top level, in a choice (OpenRouter) and in `x_groq`. Other places report no failure of the answer:
 * Azure's `content_filter_result` has an `error` when its filter did not run.
 * @throws ReportedError for an error event: a fault or a refusal inside a 200.
 */
export function refuseError(event: string, chunk: Chunk): void {
  if (!event.startsWith('data:') && EVENT_NAMED_ERROR.test(event))
    throw new ReportedError(toUtf8(chunk.error ?? chunk));
  if (!event.includes('"error"')) return;
  for (const { error } of [chunk, ...choicesOf(chunk), chunk.x_groq ?? {}])
    if (isError(error)) throw new ReportedError(toUtf8(error));
}

function isError(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/** Decodes the strings in the value. */
function toUtf8(value: unknown): unknown {
  return JSON.parse(Buffer.from(JSON.stringify(value), 'latin1').toString('utf8'));
}

/** True for OpenAI's chunk that holds only the usage. */
export function hasNoChoices(event: string): boolean {
  return !event.includes('"choices"') || /"choices": ?\[ ?\]/.test(event);
}

/**
 * The usage object of an event; null when it has none (`"usage":null` counts as none). Some makers only nest it: Moonshot
 * in its last choice, Groq in `x_groq`.
 */
export function usageOf(event: string): unknown {
  const own = usageMember(event);
  const span = own && event[own.valueStart] === '{' ? own : nestedUsage(event);
  if (!span) return null;
  try {
    return JSON.parse(event.slice(span.valueStart, span.valueEnd)) as unknown;
  } catch {
    return null;
  }
}

/** Puts this usage into the event: replaces its own one (also `null`), or appends it as the last member. */
export function putUsage(event: string, usage: string): string {
  const own = usageMember(event);
  if (own) return event.slice(0, own.valueStart) + usage + event.slice(own.valueEnd);
  const end = event.lastIndexOf('}');
  return `${event.slice(0, end)},"usage":${usage}${event.slice(end)}`;
}

type Span = Pick<Member, 'valueStart' | 'valueEnd'>;

/** Position of the event's own `usage`, which readers of the stream look for, whatever its value. */
function usageMember(event: string): Span | null {
  if (!event.includes('"usage"')) return null;
  const data = event.search(/^data:/m);
  if (data < 0) return null;
  // JSON may continue over several lines of data; blanks keep every position.
  const bytes = Buffer.from(event.replaceAll(/^data:/gm, '     '), 'latin1');
  return topLevelMembers(bytes, data).get('usage') ?? null;
}

/**
 * Position of the last usage object at any depth. Inside a JSON string every quote is escaped, so `"usage":` with bare
 * quotes is a key.
 */
function nestedUsage(event: string): Span | null {
  const key = event.lastIndexOf('"usage"');
  if (key < 0) return null;
  let start = key + '"usage"'.length;
  while (event[start] === ' ' || event[start] === ':') start += 1;
  if (event[start] !== '{') return null;
  let depth = 0;
  for (let at = start; at < event.length; at += 1) {
    if (event[at] === '{') depth += 1;
    else if (event[at] === '}' && --depth === 0) return { valueStart: start, valueEnd: at + 1 };
  }
  return null;
}
