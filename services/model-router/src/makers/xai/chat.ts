// What a chat may ask of xAI's Responses API beyond the AI SDK's common settings.
import type { ChatHabits } from '../ai-sdk/declaration.ts';

export const chat: ChatHabits = {
  onWire: ['parallel_tool_calls', 'prompt_cache_key', 'safety_identifier', 'user'],
  options: { store: (store) => ({ store: store === true }) },
  // OpenAI's chat keeps nothing unless it is asked to, xAI's does: its reasoning then comes encrypted, to be sent back.
  defaults: { store: false },
  imageDetail: 'imageDetail',
};
