// Chat options of Mistral beyond the AI SDK's common settings.
import type { ChatOptions } from '../ai-sdk/declaration.ts';

export const chat: ChatOptions = {
  onWire: ['parallel_tool_calls', 'prediction', 'prompt_cache_key', 'response_format'],
  imageUrls: true,
};
