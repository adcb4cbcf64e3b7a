// A Responses request as a chat request. Fields that Responses and chat have in common, and unknown ones, are kept.
import { invalidParam, type ResponsesRequest } from '@switchyard/contracts';
import { toMessages } from './input-items.ts';
import { toChatTools } from './tools.ts';

/** Fields that chat lacks, or has under another name. The edge has refused every value that asks for state. */
const NOT_OF_CHAT: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'max_output_tokens',
  'text',
  'reasoning',
  'tools',
  'tool_choice',
  'stream_options',
  'max_tool_calls',
  'metadata',
  'include',
  'store',
  'previous_response_id',
  'conversation',
  'prompt',
  'background',
  'truncation',
  'context_management',
  'top_logprobs',
  'client_metadata',
] satisfies (keyof ResponsesRequest)[]);

/** @throws ServiceError naming the field that chat cannot express */
export function toChatRequest(request: ResponsesRequest): Record<string, unknown> {
  const { input, instructions, max_output_tokens, text, reasoning } = request;
  const kept = Object.entries(request).filter(([name, value]) => !NOT_OF_CHAT.has(name) && value !== null);
  return {
    ...Object.fromEntries(kept),
    messages: [...(instructions ? [{ role: 'system', content: instructions }] : []), ...toMessages(input)],
    ...toChatTools(request),
    ...(max_output_tokens ? { max_tokens: max_output_tokens } : {}),
    ...(reasoning?.effort ? { reasoning_effort: reasoning.effort } : {}),
    ...(text?.verbosity ? { verbosity: text.verbosity } : {}),
    ...toResponseFormat(text?.format),
  };
}

function toResponseFormat(format: NonNullable<ResponsesRequest['text']>['format']): Record<string, unknown> {
  switch (format?.type) {
    case undefined:
    case 'text':
      return {};
    case 'json_object':
      return { response_format: { type: 'json_object' } };
    case 'json_schema': {
      const { name, schema, description, strict } = format;
      if (name === undefined) throw invalidParam('text.format.name', 'Give the schema a name.');
      if (schema === undefined) throw invalidParam('text.format.schema', 'Give a JSON Schema.');
      const described = description ? { description } : {};
      const bound = typeof strict === 'boolean' ? { strict } : {};
      return {
        response_format: { type: 'json_schema', json_schema: { name, schema, ...described, ...bound } },
      };
    }
    default:
      throw invalidParam('text.format.type', 'Use text, json_object or json_schema.');
  }
}
