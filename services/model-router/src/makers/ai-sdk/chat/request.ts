// The parts of a chat request that a translation reads. The edge has validated the top level (contracts' chat.ts); deeper
// members are validated here, and an invalid member is refused with its path.
import { anyObject } from '@switchyard/contracts';
import { z } from 'zod';
import { UnsupportedField } from '../translation.ts';

/** Anthropic's cache mark, in the form commonly added to OpenAI's shape. */
const cacheControl = z.looseObject({ type: z.string() }).nullish();

const contentPart = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  image_url: z
    .union([z.string(), z.looseObject({ url: z.string(), detail: z.string().nullish() })])
    .nullish(),
  input_audio: z.looseObject({ data: z.string(), format: z.string().nullish() }).nullish(),
  file: z
    .looseObject({
      file_data: z.string().nullish(),
      file_id: z.string().nullish(),
      filename: z.string().nullish(),
    })
    .nullish(),
  cache_control: cacheControl,
});
export type ContentPart = z.infer<typeof contentPart>;

/** Data that a maker needs back unchanged, such as signatures of reasoning, by the maker's name. */
const extraContent = z.record(z.string(), z.record(z.string(), z.unknown())).nullish();

const toolCall = z.looseObject({
  id: z.string(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string().optional() }).optional(),
  extra_content: extraContent,
});
export type ToolCall = z.infer<typeof toolCall>;

const message = z.looseObject({
  role: z.string(),
  name: z.string().nullish(),
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  refusal: z.string().nullish(),
  reasoning_details: z
    .array(z.looseObject({ text: z.string().nullish(), extra_content: extraContent }))
    .nullish(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().nullish(),
});
export type ChatMessage = z.infer<typeof message>;

const schema = anyObject();

const tool = z.looseObject({
  type: z.string(),
  cache_control: cacheControl,
  function: z
    .looseObject({
      name: z.string(),
      description: z.string().nullish(),
      parameters: schema.nullish(),
      strict: z.boolean().nullish(),
    })
    .optional(),
});

const toolChoice = z.union([
  z.string(),
  z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }).optional() }),
]);

const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z
    .looseObject({ name: z.string().nullish(), description: z.string().nullish(), schema: schema.nullish() })
    .nullish(),
});

const chatRequest = z.looseObject({
  messages: z.array(message),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  response_format: responseFormat.nullish(),
  max_tokens: z.int().nullish(),
  max_completion_tokens: z.int().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  user: z.string().nullish(),
});
export type ChatRequest = z.infer<typeof chatRequest>;

/** @throws UnsupportedField naming the first invalid member. */
export function readChatRequest(body: Readonly<Record<string, unknown>>): ChatRequest {
  const parsed = chatRequest.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = issue?.path.join('.') ?? '';
  throw new UnsupportedField(at, issue?.message ?? 'Invalid value.');
}
