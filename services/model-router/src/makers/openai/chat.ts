// Chat options of OpenAI: its fields are the caller's own, so they are sent unchanged.
import type { ChatOptions } from '../ai-sdk/declaration.ts';
import { prepareTools } from './prepare-tools.ts';

export const chat: ChatOptions = {
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
  prepare: prepareTools,
  messageNames: true,
  imageDetail: 'imageDetail',
};
