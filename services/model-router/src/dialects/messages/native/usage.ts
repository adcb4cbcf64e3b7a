// Anthropic's own usage, read for its price.
import { readUsage, type TokenUsage } from '../../../spending/pricing.ts';

/** Anthropic's usage object; its counts exclude one another. */
export interface AnthropicUsage {
  input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation?: { ephemeral_1h_input_tokens?: number | null } | null;
  output_tokens?: number | null;
}

/** Null when there is no count that can be charged. */
export function readAnthropicUsage(usage: AnthropicUsage | null | undefined): TokenUsage | null {
  if (typeof usage?.input_tokens !== 'number') return null;
  const read = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  return readUsage({
    prompt_tokens: usage.input_tokens + read + written,
    completion_tokens: usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      cache_write_1h_tokens: usage.cache_creation?.ephemeral_1h_input_tokens,
    },
  });
}

/** Whether an answer without content is unusable: no refusal or limit ended it, and no token was counted. */
export function isNothing(stopReason: unknown, usage: AnthropicUsage | null | undefined): boolean {
  return stopReason !== 'refusal' && stopReason !== 'max_tokens' && !usage?.output_tokens;
}
