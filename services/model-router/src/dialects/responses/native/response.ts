// Reads a `response` of OpenAI: its usage, and whether it has content.
import { type EmptyAnswer, emptyAnswer } from '../../../answers/chat-content.ts';
import { readUsage, type TokenUsage } from '../../../spending/pricing.ts';

/** Each member may be missing. */
export interface OpenAiResponse {
  status?: unknown;
  output?: unknown;
  error?: unknown;
  incomplete_details?: { reason?: unknown } | null;
  usage?: OpenAiUsage | null;
}

export interface OpenAiUsage {
  input_tokens?: number | null;
  input_tokens_details?: object | null;
  output_tokens?: number | null;
}

/** Null when there is no count that can be charged. */
export function readResponsesUsage(usage: OpenAiUsage | null | undefined): TokenUsage | null {
  return readUsage({
    prompt_tokens: usage?.input_tokens,
    completion_tokens: usage?.output_tokens,
    prompt_tokens_details: usage?.input_tokens_details,
  });
}

/** The usage to show: OpenAI's own, or one of an estimate. */
export function usageShown(usage: OpenAiUsage | null | undefined, used: TokenUsage): object {
  if (readResponsesUsage(usage)) return { ...usage };
  const { inputTokens, outputTokens } = used;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

/** Null for an answer with content. */
export function emptiness({ output, incomplete_details: incomplete }: OpenAiResponse): EmptyAnswer | null {
  if (Array.isArray(output) && output.some(hasContent)) return null;
  return emptyAnswer(incomplete?.reason === 'max_output_tokens' ? 'length' : incomplete?.reason);
}

interface OutputItem {
  type?: unknown;
  content?: unknown;
  summary?: unknown;
  encrypted_content?: unknown;
}

function hasContent(item: unknown): boolean {
  const { type, content, summary, encrypted_content: sealed } = (item ?? {}) as OutputItem;
  const parts = [content, summary].flatMap((list) => (Array.isArray(list) ? (list as object[]) : []));
  if (type === 'message') return parts.some(hasText);
  return type !== 'reasoning' || Boolean(sealed) || parts.some(hasText);
}

function hasText(part: { text?: unknown; refusal?: unknown }): boolean {
  return [part.text, part.refusal].some((text) => typeof text === 'string' && text !== '');
}
