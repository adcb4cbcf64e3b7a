// Chat options of OpenAI's two text APIs. Chat completions has the caller's own fields, so they are sent unchanged; Responses
// has some of them under other names, and is used for the models that take tools with reasoning only there.
import type { ChatOptions } from '../ai-sdk/chat/chat-options.ts';

const UNREADABLE = 'Its result does not fit in a chat. Use the fields next to messages.';
const STATELESS = 'The maker stores nothing. Send the whole conversation in messages.';
const TOOLS = 'Set tools next to messages; hosted tools are not available.';

const completions: ChatOptions = {
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
  refused: { audio: UNREADABLE, functions: UNREADABLE, tools: TOOLS },
  messageNames: true,
  imageDetail: 'imageDetail',
};

const responses: ChatOptions = {
  onWire: [
    'metadata',
    'parallel_tool_calls',
    'prompt_cache_key',
    'safety_identifier',
    'service_tier',
    'store',
    'temperature',
    'top_p',
    'user',
  ],
  options: {
    // Responses is strict by default, chat is not.
    response_format: (format) => ({
      strictJsonSchema: (format as { json_schema?: { strict?: unknown } }).json_schema?.strict === true,
    }),
    verbosity: (verbosity) => ({ textVerbosity: String(verbosity) }),
  },
  outputTokensMin: 16,
  // Without storage OpenAI returns the reasoning encrypted, to be sent back. It refuses summaries to an organization
  // that it has not verified.
  defaults: { store: false, reasoningSummary: null },
  // POST /v1/responses refuses them too: they add unpriced input or tools, or leave no answer.
  refused: {
    background: UNREADABLE,
    context_management: STATELESS,
    conversation: STATELESS,
    input: STATELESS,
    previous_response_id: STATELESS,
    prompt: STATELESS,
    tools: TOOLS,
  },
  imageDetail: 'imageDetail',
};

/** GPT-5.4 and later, for which chat completions refuses tools with an effort of reasoning, or any tools. */
const RESPONSES_MODELS = /^gpt-(5\.[4-9]|[6-9])/;

export function isResponsesModel(model: string): boolean {
  return RESPONSES_MODELS.test(model);
}

export function chat(model: string): ChatOptions {
  return isResponsesModel(model) ? responses : completions;
}
