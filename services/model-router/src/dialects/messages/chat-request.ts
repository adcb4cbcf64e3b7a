// Converts a Messages request to a chat request.
import type { CountTokensRequest, MessagesRequest } from '@switchyard/contracts';
import { toChatMessages } from './chat-messages.ts';

type Tool = NonNullable<MessagesRequest['tools']>[number];
type ToolChoice = NonNullable<MessagesRequest['tool_choice']>;

/** Thinking tokens below which a budget is a low or a medium effort. */
const LOW_BUDGET_TOKENS = 4_096;
const MEDIUM_BUDGET_TOKENS = 16_384;

/**
 * The chat request with the same meaning. `cache_control` is left out: makers other than Anthropic cache by themselves.
 */
export function toChatRequest(request: MessagesRequest | CountTokensRequest): Record<string, unknown> {
  const { model, models, tools, tool_choice: choice } = request;
  const body = {
    model,
    models,
    messages: toChatMessages(request),
    tools: tools?.length ? tools.map(toFunction) : undefined,
    tool_choice: choice ? toChatChoice(choice) : undefined,
    parallel_tool_calls:
      choice && choice.type !== 'none' && choice.disable_parallel_tool_use ? false : undefined,
    response_format: toResponseFormat(request),
    ...('max_tokens' in request ? sampling(request) : {}),
  };
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== undefined && value !== null),
  );
}

function sampling(request: MessagesRequest) {
  const { max_tokens, temperature, top_p, top_k, stop_sequences: stops, metadata, stream } = request;
  return {
    max_tokens,
    temperature,
    top_p,
    top_k,
    stop: stops?.length ? stops : undefined,
    user: metadata?.user_id,
    stream,
  };
}

function toFunction({ name, description, input_schema: parameters, strict }: Tool) {
  return {
    type: 'function',
    function: { name, ...(description && { description }), parameters, ...(strict && { strict }) },
  };
}

function toChatChoice(choice: ToolChoice) {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.name } };
    default:
      return choice satisfies never;
  }
}

/** The thinking effort. */
export function toHints(request: MessagesRequest): Record<string, unknown> {
  const effort = effortOf(request);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

function effortOf({ thinking, output_config: config }: CountTokensRequest): string | undefined {
  if (config?.effort) return config.effort;
  if (thinking?.type !== 'enabled') return undefined;
  if (thinking.budget_tokens < LOW_BUDGET_TOKENS) return 'low';
  return thinking.budget_tokens < MEDIUM_BUDGET_TOKENS ? 'medium' : 'high';
}

function toResponseFormat({ output_config: config }: CountTokensRequest) {
  const schema = config?.format?.schema;
  return schema && { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}

/** Anthropic shows thoughts only to callers that asked for them. */
export function showsThinking({ thinking }: MessagesRequest): boolean {
  return thinking?.type === 'enabled' || thinking?.type === 'adaptive';
}
