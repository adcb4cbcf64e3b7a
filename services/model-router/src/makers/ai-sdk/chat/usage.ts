// Converts the usage to OpenAI's shape: input includes cache reads and writes, output includes reasoning.
import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ChatOptions } from './chat-options.ts';

interface OpenAiUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: {
    cached_tokens: number;
    cache_write_tokens?: number;
    cache_write_1h_tokens?: number;
    audio_tokens?: number;
    cached_audio_tokens?: number;
  };
  completion_tokens_details: { reasoning_tokens: number };
}

/** Null when the maker sent no count; the router then estimates. */
export function toUsage(
  usage: LanguageModelV4Usage,
  { billedTokens, cacheWrites1h, audioTokens }: ChatOptions,
): OpenAiUsage | null {
  const billed = usage.raw && billedTokens?.(usage.raw);
  const input = billed?.input ?? usage.inputTokens.total;
  const output = billed?.output ?? usage.outputTokens.total ?? 0;
  if (input === undefined) return null;
  const { cacheRead = 0, cacheWrite = 0 } = usage.inputTokens;
  const cacheWrite1h = (usage.raw && cacheWrites1h?.(usage.raw)) || 0;
  const audio = (usage.raw && audioTokens?.(usage.raw)) || { input: 0, cached: 0 };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
      ...(cacheWrite1h > 0 && { cache_write_1h_tokens: cacheWrite1h }),
      ...(audio.input > 0 && { audio_tokens: audio.input, cached_audio_tokens: audio.cached }),
    },
    completion_tokens_details: { reasoning_tokens: usage.outputTokens.reasoning ?? 0 },
  };
}
