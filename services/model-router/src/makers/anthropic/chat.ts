// What a chat may ask of Anthropic beyond the AI SDK's common settings.
import type { ChatHabits } from '../ai-sdk/declaration.ts';

export const chat: ChatHabits = {
  options: {
    parallel_tool_calls: (allowed) => ({ disableParallelToolUse: allowed === false }),
    user: (user) => ({ metadata: { userId: String(user) } }),
  },
  cacheControl: true,
  cacheWrites1h: ({ cache_creation: created }) => {
    const { ephemeral_1h_input_tokens: tokens } = (created ?? {}) as Record<string, unknown>;
    return typeof tokens === 'number' ? tokens : 0;
  },
};
