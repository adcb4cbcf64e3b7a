// Anthropic's Messages API.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const anthropic: MakerDeclaration = {
  name: 'anthropic',
  types: ['language'],
  baseUrl: 'https://api.anthropic.com/v1',
  apiKeyEnv: 'ANTHROPIC_API_KEY',
  chat: {
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
  },
  native: {
    messages: {
      path: '/messages',
      headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
    },
  },
  async create(settings) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const maker = createAnthropic(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};
