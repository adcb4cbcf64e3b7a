// What a chat may ask of Mistral beyond the AI SDK's common settings.
import type { ChatHabits } from '../ai-sdk/declaration.ts';

export const chat: ChatHabits = {
  onWire: ['parallel_tool_calls', 'prediction', 'prompt_cache_key', 'response_format'],
  imageUrls: true,
};
