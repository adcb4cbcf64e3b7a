// Whether a chat answer, or a chunk of one, has anything in it: a role, an empty text or a note of the maker's own is
// no first token, and an answer of nothing else is no answer.

/** As far as it is looked at; anything may be missing. */
export interface ChatChoice {
  text?: unknown;
  delta?: unknown;
  message?: unknown;
  finish_reason?: unknown;
  /** OpenRouter's: this choice failed. */
  error?: unknown;
}

/** Members of a message that are there before the model has said anything. */
const FRAME = new Set(['role', 'id', 'name']);

/**
 * Reasons of a finish that make an answer of nothing an answer all the same. A refusal is the model's last word, and no
 * other model is asked in its place; at `length` the caller's own limit was too small for any text.
 */
const REFUSALS = new Set(['content_filter', 'refusal', 'safety']);
const LIMITS = new Set(['length', 'max_tokens']);

/** The choices of a completion or a chunk; none where it has none. */
export function choicesOf(chunk: unknown): ChatChoice[] {
  const { choices } = (chunk ?? {}) as { choices?: unknown };
  if (!Array.isArray(choices)) return [];
  return choices.every(isObject) ? choices : choices.filter(isObject);
}

/** Whether the model has said something in it: text, reasoning, a refusal in words, a call of a tool, a sound. */
export function hasContent({ text, delta, message }: ChatChoice): boolean {
  if (isSomething(text)) return true;
  const said = delta ?? message;
  if (typeof said !== 'object' || said === null) return false;
  return Object.entries(said).some(([name, value]) => !FRAME.has(name) && isSomething(value));
}

/** What an answer without content is, by the reason that it gives for its finish. */
export function emptyAnswer(finishReason: unknown): 'refusal' | 'limit' | 'nothing' {
  if (typeof finishReason !== 'string') return 'nothing';
  if (REFUSALS.has(finishReason)) return 'refusal';
  return LIMITS.has(finishReason) ? 'limit' : 'nothing';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
