// Decides whether a chat answer or chunk has content. A role, an empty text or a maker's metadata does not count as a
// first token, and an answer with nothing else is empty.

import { isJsonObject } from '../json/is-json-object.ts';

/** The members that are read; each may be missing. */
export interface ChatChoice {
  index?: unknown;
  text?: unknown;
  delta?: unknown;
  message?: unknown;
  finish_reason?: unknown;
  /** OpenRouter: set when this choice failed. */
  error?: unknown;
  /** Moonshot: the usage of the answer. */
  usage?: unknown;
}

/** The text of a delta or message; each may be missing. */
interface ChatText {
  content?: unknown;
  refusal?: unknown;
  reasoning_content?: unknown;
  /** The same under the name of vLLM and OpenRouter. */
  reasoning?: unknown;
  tool_calls?: unknown;
  /** OpenAI's call before there were tools. */
  function_call?: ChatCall;
}

type ChatCall = { arguments?: unknown } | null;
type ChatToolCall = { function?: ChatCall } | null;

/** Members of a message that exist before the model produces content. */
const FRAME = new Set(['role', 'id', 'name']);

/**
 * Finish reasons that make an empty answer valid. A refusal is final, so no other model is tried. At `length`, the
 * caller's limit was too small for any text; at `stop`, the answer may begin with one of the caller's stop sequences.
 */
export const REFUSAL_REASONS: ReadonlySet<unknown> = new Set(['content_filter', 'refusal', 'safety']);
export const LIMIT_REASONS: ReadonlySet<unknown> = new Set(['length', 'max_tokens']);

/** The choices of a completion or chunk; empty when there are none. */
export function choicesOf(chunk: unknown): ChatChoice[] {
  const { choices } = (chunk ?? {}) as { choices?: unknown };
  if (!Array.isArray(choices)) return [];
  return choices.every(isJsonObject) ? choices : choices.filter(isJsonObject);
}

/** Whether the choice has text, reasoning, a refusal text, a tool call or audio. */
export function hasContent({ text, delta, message }: ChatChoice): boolean {
  if (isSomething(text)) return true;
  const said = delta ?? message;
  if (typeof said !== 'object' || said === null) return false;
  return Object.entries(said).some(([name, value]) => !FRAME.has(name) && isSomething(value));
}

/**
 * Size of the text in a choice: content, refusal, reasoning and the arguments of calls. Reasoning counts once, although
 * some servers repeat it under another name.
 * @param sizeOf size of one text; by default its characters, which are bytes in a stream's latin1
 */
export function contentLength(
  { text, delta, message }: ChatChoice,
  sizeOf = (text: string) => text.length,
): number {
  const said: ChatText = [delta, message].find(isJsonObject) ?? {};
  const { reasoning_content: reasoning, tool_calls: calls } = said;
  const texts = [text, said.content, said.refusal, isSomething(reasoning) ? reasoning : said.reasoning];
  texts.push(said.function_call?.arguments);
  if (Array.isArray(calls)) for (const call of calls as ChatToolCall[]) texts.push(call?.function?.arguments);
  let length = 0;
  for (const one of texts)
    if (typeof one === 'string') length += sizeOf(one);
    else if (isSomething(one)) length += sizeOf(JSON.stringify(one)); // parts, or arguments as an object
  return length;
}

/** Kinds of answers without content. */
export type EmptyAnswer = 'refusal' | 'limit' | 'nothing';

/**
 * Classifies an answer without content by its finish reason.
 * @param stop the caller's stop sequences
 */
export function emptyAnswer(finishReason: unknown, stop?: unknown): EmptyAnswer {
  if (typeof finishReason !== 'string') return 'nothing';
  if (REFUSAL_REASONS.has(finishReason)) return 'refusal';
  if (finishReason === 'stop' && isSomething(stop)) return 'limit';
  return LIMIT_REASONS.has(finishReason) ? 'limit' : 'nothing';
}

function isSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
