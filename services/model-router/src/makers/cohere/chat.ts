// Chat options of Cohere beyond the AI SDK's common settings.
import type { ChatOptions } from '../ai-sdk/declaration.ts';

export const chat: ChatOptions = {
  imageDetail: 'detail',
  /** `tokens` includes Cohere's own framing of the prompt, which is not billed. */
  billedTokens: ({ billed_units: billed }) => {
    const { input_tokens: input, output_tokens: output } = (billed ?? {}) as Record<string, unknown>;
    return typeof input === 'number' && typeof output === 'number' ? { input, output } : undefined;
  },
};
