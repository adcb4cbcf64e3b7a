// What a chat may ask of OpenAI: its fields are the caller's own, so they go onto the wire as they stand.
import type { ChatHabits } from '../ai-sdk/declaration.ts';

export const chat: ChatHabits = {
  onWire: [
    'frequency_penalty',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'metadata',
    'parallel_tool_calls',
    'prediction',
    'presence_penalty',
    'prompt_cache_key',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'store',
    'temperature',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'user',
    'verbosity',
    'web_search_options',
  ],
  messageNames: true,
  imageDetail: 'imageDetail',
};
