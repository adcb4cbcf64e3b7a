// What a chat may ask of Cohere beyond the AI SDK's common settings.
import type { ChatHabits } from '../ai-sdk/declaration.ts';

export const chat: ChatHabits = {
  imageDetail: 'detail',
  /** `tokens` holds Cohere's own framing of the prompt too, which nobody is charged for. */
  billedTokens: ({ billed_units: billed }) => {
    const { input_tokens: input, output_tokens: output } = (billed ?? {}) as Record<string, unknown>;
    return typeof input === 'number' && typeof output === 'number' ? { input, output } : undefined;
  },
};
