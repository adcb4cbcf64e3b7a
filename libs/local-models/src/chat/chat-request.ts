// OpenAI's chat request -> the form that local/chat uses. Parameters that mean nothing to a set of rules (temperature,
// seed, penalties …) are accepted and do nothing.
import { chatCompletionRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { LocalRefusal } from '../local-refusal.ts';
import { parseRequest } from '../local-request.ts';
import { countTokens } from '../text/tokens.ts';
import { noteImage } from './image-note.ts';
import type { JsonSchema } from './schema/json-schema.ts';

/** Tokens that a message costs beside its text: its role and its frame. */
const MESSAGE_TOKENS = 4;
/** Tokens of one answer; the catalog says so (`limits.output_tokens`), and limited callers hold no more. */
export const OUTPUT_TOKENS_MAX = 32_768;
/** Tokens of an image, whatever its size: it is not looked at. */
const IMAGE_TOKENS = 85;

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string() }),
});
const contentPart = z.discriminatedUnion('type', [textPart, refusalPart, imagePart]);
const content = z.union([z.string(), z.array(contentPart), z.null()]).optional();

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer']), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({ role: z.literal('assistant'), content, tool_calls: z.array(toolCall).nullish() }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);

const jsonSchema = z.record(z.string(), z.unknown());

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: jsonSchema.nullish(),
  }),
});

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({ schema: jsonSchema.nullish() }),
  }),
]);

const localChatRequest = chatCompletionRequest.safeExtend({
  messages: z.array(message).min(1),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
});

interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  /** Notes on its images. */
  images: string[];
  /** Of an assistant's message. */
  toolCalls: ToolCall[];
  /** Of a tool's message: the call that it answers. */
  answers: string | null;
}

export interface Tool {
  name: string;
  description: string;
  parameters: JsonSchema;
}

/** Which tools may be called, and whether one must be. */
export interface ToolPolicy {
  tools: Tool[];
  required: boolean;
  parallel: boolean;
}

export type OutputFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; schema: JsonSchema };

export interface ChatRequest {
  messages: ChatMessage[];
  toolPolicy: ToolPolicy;
  format: OutputFormat;
  maxTokens: number;
  stop: string[];
  choices: number;
  promptTokens: number;
}

/** @throws LocalRefusal naming the field at fault. */
export function readChatRequest(body: unknown): ChatRequest {
  const request = parseRequest(localChatRequest, body);
  const tools = (request.tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
  }));
  const messages = request.messages.map(readMessage);
  return {
    messages,
    toolPolicy: readToolPolicy(tools, request.tool_choice ?? 'auto', request.parallel_tool_calls ?? true),
    format: readFormat(request.response_format),
    maxTokens: Math.min(
      request.max_completion_tokens ?? request.max_tokens ?? OUTPUT_TOKENS_MAX,
      OUTPUT_TOKENS_MAX,
    ),
    stop: [request.stop ?? []].flat().filter((text) => text !== ''),
    choices: request.n ?? 1,
    promptTokens: countPrompt(messages, [request.tools, request.response_format]),
  };
}

function readMessage(raw: z.infer<typeof message>): ChatMessage {
  const parts =
    typeof raw.content === 'string' ? [{ type: 'text' as const, text: raw.content }] : (raw.content ?? []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of parts)
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'refusal') texts.push(part.refusal);
    else images.push(noteImage(part.image_url.url));
  return {
    role: raw.role === 'developer' ? 'system' : raw.role,
    text: texts.join('\n'),
    images,
    toolCalls:
      raw.role === 'assistant'
        ? (raw.tool_calls ?? []).map((call) => ({
            id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
          }))
        : [],
    answers: raw.role === 'tool' ? raw.tool_call_id : null,
  };
}

function readToolPolicy(tools: Tool[], choice: z.infer<typeof toolChoice>, parallel: boolean): ToolPolicy {
  if (choice === 'none') return { tools: [], required: false, parallel };
  if (choice === 'auto') return { tools, required: false, parallel };
  const allowed = choice === 'required' ? tools : tools.filter((one) => one.name === choice.function.name);
  if (allowed.length === 0)
    throw new LocalRefusal(400, 'invalid_request', 'tool_choice names no tool of `tools`', 'tool_choice');
  return { tools: allowed, required: true, parallel };
}

function readFormat(format: z.infer<typeof responseFormat> | null | undefined): OutputFormat {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' };
  const schema = format.json_schema.schema;
  return schema ? { type: 'json_schema', schema } : { type: 'json_object' };
}

function countPrompt(messages: ChatMessage[], extras: unknown[]): number {
  let count = 0;
  for (const { text, images, toolCalls } of messages) {
    count += MESSAGE_TOKENS + countTokens(text) + images.length * IMAGE_TOKENS;
    for (const call of toolCalls) count += countTokens(call.name) + countTokens(call.arguments);
  }
  for (const extra of extras) if (extra) count += countTokens(JSON.stringify(extra));
  return count;
}
