// Chat options of Anthropic beyond the AI SDK's common settings.
import type { ChatOptions } from '../ai-sdk/declaration.ts';

export const chat: ChatOptions = {
  options: {
    parallel_tool_calls: (allowed) => ({ disableParallelToolUse: allowed === false }),
    user: (user) => ({ metadata: { userId: String(user) } }),
  },
  addedThinking: {
    tokensIn(body) {
      const { thinking } = (body ?? {}) as { thinking?: { budget_tokens?: unknown } };
      return typeof thinking?.budget_tokens === 'number' ? thinking.budget_tokens : null;
    },
    tokensMin: 1_024,
    optionFor: (budgetTokens) => ({ thinking: { type: 'enabled', budgetTokens } }),
  },
  cacheControl: true,
  cacheWrites1h: ({ cache_creation: created }) => {
    const { ephemeral_1h_input_tokens: tokens } = (created ?? {}) as Record<string, unknown>;
    return typeof tokens === 'number' ? tokens : 0;
  },
};
