// The `response` object: what was asked for, the state of the answer, and its output items.
import type { ResponsesRequest, ResponsesUsage, ServiceError } from '@switchyard/contracts';
import { LIMIT_REASONS, REFUSAL_REASONS } from '../../answers/chat-content.ts';
import type { ChatUsage } from '../chat-shapes.ts';
import type { DialectCall } from '../dialect.ts';
import type { OutputItem } from './output-items.ts';

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly model: string;
  readonly output: readonly OutputItem[];
  readonly incomplete_details?: { readonly reason: string } | null;
  readonly error?: { readonly code: string; readonly message: string } | null;
  readonly usage: ResponsesUsage | null;
}

/** The part of ids that names the call. */
export function idSuffix({ requestId }: DialectCall): string {
  return requestId.replace(/^req_/, '');
}

export function responseObject(request: ResponsesRequest, call: DialectCall, state: ResponseState): object {
  return {
    id: `resp_${idSuffix(call)}`,
    object: 'response',
    created_at: Math.floor(call.receivedAt / 1000),
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    store: false,
    temperature: request.temperature ?? null,
    text: { ...request.text, format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    ...state,
  };
}

/** How an answer with this finish reason ended. */
export function endOf(finishReason: string | null): Pick<ResponseState, 'status' | 'incomplete_details'> {
  if (LIMIT_REASONS.has(finishReason))
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
  if (REFUSAL_REASONS.has(finishReason))
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
  return { status: 'completed' };
}

/** A response whose stream failed after it had begun. */
export function failedState({ code, message }: ServiceError) {
  const family = code === 'rate_limited' ? 'rate_limit_exceeded' : 'server_error';
  return { status: 'failed', error: { code: family, message }, usage: null } as const;
}

export function toResponsesUsage(usage: ChatUsage): ResponsesUsage {
  const { prompt_tokens: input = 0, completion_tokens: output = 0, cost } = usage;
  const { cached_tokens = 0, cache_write_tokens = 0 } = usage.prompt_tokens_details ?? {};
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens ?? input + output,
    cost,
  };
}
