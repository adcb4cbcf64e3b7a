// Converts chat's usage to that of the Messages API, where cached tokens are not part of the input tokens.
import type { ChatUsage } from '../chat-shapes.ts';

export function toUsage({
  prompt_tokens: input = 0,
  completion_tokens: output = 0,
  prompt_tokens_details: details,
  cost,
}: ChatUsage) {
  const read = details?.cached_tokens ?? 0;
  const written = details?.cache_write_tokens ?? 0;
  return {
    input_tokens: Math.max(0, input - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: output,
    cost,
  };
}
