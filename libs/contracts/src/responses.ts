// POST /v1/responses: OpenAI's Responses, without its state. The router translates it to and from chat, except for a maker
// that speaks it; members of items are checked there, where they are read.
import { z } from 'zod';
import { anyObject, boundedList, boundedMap } from './bounded.ts';
import { CHAT_MESSAGES_MAX, CHAT_TOOLS_MAX, CONTENT_PARTS_MAX, chatCompletionRequest } from './chat.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest, refusedField } from './model-choice.ts';

const { temperature, top_p } = chatCompletionRequest.shape;

const STATELESS = 'Responses are not stored. Send the whole conversation in input.';
const NO_LOGPROBS = 'Use logprobs of /v1/chat/completions.';
const INCLUDES_MAX = 16;
/** As at OpenAI. */
const METADATA_MAX = 16;

const parts = boundedList(
  z.looseObject({ type: z.string().describe('input_text, input_image, input_file, output_text …') }),
  { max: CONTENT_PARTS_MAX },
);

const inputItem = z.looseObject({
  type: z
    .string()
    .optional()
    .describe(
      'message (the default), function_call, function_call_output or reasoning; items of custom tools for OpenAI’s own models',
    ),
  id: z.string().nullish().describe('Id from an earlier answer; ignored'),
  role: z.string().optional().describe('Of a message: user, assistant, system or developer'),
  content: z.union([z.string(), parts]).nullish().describe('Of a message: text, or a list of parts'),
  call_id: z.string().optional().describe('Of a call and of its output: the id that joins them'),
  name: z.string().optional().describe('Of a call: the function'),
  namespace: z.string().optional().describe('Of a call: the namespace of the function, where it has one'),
  arguments: z.string().optional().describe('Of a call: its arguments, as JSON'),
  output: z.union([z.string(), parts]).optional().describe('Of a call’s output: text, or a list of parts'),
  encrypted_content: z.string().nullish().describe('Of reasoning: what its maker needs back unchanged'),
});

const tool = z.looseObject({
  type: z
    .string()
    .describe(
      'function, or namespace with functions in `tools`; custom, local_shell and apply_patch for OpenAI’s own models; hosted tools are refused',
    ),
  name: z.string().optional().describe('The function’s name'),
  description: z.string().nullish().describe('What it does'),
  parameters: anyObject().nullish().describe('JSON Schema of its arguments'),
  strict: z.boolean().nullish().describe('Whether the arguments must match the schema'),
});

const toolChoice = z.union([
  z.string(),
  z.looseObject({ type: z.string().describe('function or allowed_tools') }),
]);

const textFormat = z.looseObject({
  type: z.string().describe('text, json_object or json_schema'),
  name: z.string().optional().describe('Name of the schema'),
  description: z.string().nullish().describe('What the answer is for'),
  schema: anyObject().optional().describe('JSON Schema of the answer'),
  strict: z.boolean().nullish().describe('Whether the answer must match the schema'),
});

const metadata = boundedMap(z.string(), { max: METADATA_MAX });

const NAMED_MAX_TOKENS = 'Use max_output_tokens.';

export const responsesRequest = z
  .looseObject({
    ...modelChoice,
    input: z
      .union([z.string(), boundedList(inputItem, { min: 1, max: CHAT_MESSAGES_MAX })])
      .describe('The user’s text, or the conversation so far as items, oldest first'),
    instructions: z.string().nullish().describe('The system message'),
    stream: z
      .boolean()
      .nullish()
      .describe('Answer in typed server-sent events; the last one carries `response.usage.cost`'),
    stream_options: z
      .object({})
      .nullish()
      .describe('`include_obfuscation`, where the maker has it; otherwise not read'),
    max_output_tokens: z
      .int()
      .positive()
      .nullish()
      .describe('Maximum tokens in the answer, reasoning included'),
    ...{ max_tokens: refusedField(NAMED_MAX_TOKENS), max_completion_tokens: refusedField(NAMED_MAX_TOKENS) },
    n: z.literal(1, 'A response has one answer. Send more requests.').nullish().describe('Only 1'),
    max_tool_calls: z.int().positive().nullish().describe('Accepted; it counts hosted tools only'),
    ...{ temperature, top_p },
    tools: boundedList(tool, { max: CHAT_TOOLS_MAX }).nullish().describe('Functions that the model may call'),
    tool_choice: toolChoice.nullish().describe('auto, none, required, a function, or the allowed tools'),
    parallel_tool_calls: z.boolean().nullish().describe('Whether an answer may have several calls'),
    text: z
      .object({
        format: textFormat.nullish().describe('Form of the answer: text, JSON, or JSON by a schema'),
        verbosity: z.string().nullish().describe('low, medium or high, where the model supports it'),
      })
      .nullish()
      .describe('The form of the answer'),
    reasoning: z
      .object({
        effort: z.string().nullish().describe('How much the model reasons, where it supports this'),
        summary: z.string().nullish().describe('For OpenAI’s own models; others show reasoning as they do'),
        generate_summary: z.string().nullish().describe('As summary'),
      })
      .nullish()
      .describe('How the model reasons'),
    metadata: metadata.nullish().describe('Returned in the answer'),
    include: boundedList(
      z.string().refine((name) => name !== 'message.output_text.logprobs', NO_LOGPROBS),
      { max: INCLUDES_MAX },
    )
      .nullish()
      .describe(
        '`reasoning.encrypted_content` is included for every model that reasons; others go to OpenAI’s own models only',
      ),
    store: z.boolean().nullish().describe('Accepted; the answer says false, since nothing is stored'),
    client_metadata: metadata.nullish().describe('Accepted; not read'),
    previous_response_id: refusedField(STATELESS),
    conversation: refusedField(STATELESS),
    prompt: refusedField('Prompt templates are not stored. Send input and instructions.'),
    context_management: refusedField('Shorten the input yourself.'),
    background: z
      .literal(false, 'Responses are not stored. Use stream for long answers.')
      .nullish()
      .describe('Only false: responses are not stored'),
    truncation: z
      .literal('disabled', 'Shorten the input yourself.')
      .nullish()
      .describe('Only disabled: the input is never shortened'),
    top_logprobs: z.literal(0, NO_LOGPROBS).nullish().describe('Only 0: there are no log probabilities'),
  })
  .apply(modelRequest, {
    description:
      'OpenAI’s Responses, stateless. Fields that are not listed here (seed, stop, user …) go to the maker as they are',
    examples: [{ model: 'local/chat', input: 'What is 6 * 7?' }],
  });
export type ResponsesRequest = z.infer<typeof responsesRequest>;
export type ResponsesInputItem = z.infer<typeof inputItem>;

const responsesUsage = z.object({
  input_tokens: z.int().describe('Tokens in'),
  input_tokens_details: z
    .object({
      cached_tokens: z.int().describe('Cached tokens'),
      cache_write_tokens: z.int().optional().describe('Tokens written to a cache, if the maker counts them'),
    })
    .describe('Kinds of tokens in'),
  output_tokens: z.int().describe('Tokens out, reasoning included'),
  output_tokens_details: z
    .object({ reasoning_tokens: z.int().describe('Reasoning tokens') })
    .describe('Kinds of tokens out'),
  total_tokens: z.int().describe('Both together'),
  cost: dollars,
});
export type ResponsesUsage = z.infer<typeof responsesUsage>;

export const outputPart = z.looseObject({
  type: z.string().describe('output_text, refusal, summary_text or reasoning_text'),
  text: z.string().optional().describe('The text; of a refusal: absent'),
  refusal: z.string().optional().describe('Of a refusal: why the model refuses'),
  annotations: z
    .array(z.looseObject({ type: z.string().describe('Such as url_citation') }))
    .optional()
    .describe('Of output_text: its sources'),
});

const outputItem = z.looseObject({
  type: z.string().describe('message, function_call, reasoning, or a call of a custom tool'),
  id: z.string().describe('The id of the item'),
  status: z.string().nullish().describe('in_progress, completed or incomplete; reasoning may have none'),
  role: z.string().optional().describe('Of a message: assistant'),
  content: z
    .array(outputPart)
    .nullish()
    .describe('Of a message: what the model says; of reasoning: its text, where shown'),
  summary: z.array(outputPart).optional().describe('Of reasoning: its summary'),
  encrypted_content: z.string().nullish().describe('Of reasoning: return it unchanged'),
  call_id: z.string().nullish().describe('Of a call: its id, for the output that you send'),
  name: z.string().optional().describe('Of a call: the function or the custom tool'),
  namespace: z.string().optional().describe('Of a call: the namespace of the function, where it has one'),
  arguments: z.string().optional().describe('Of a function call: its arguments, as JSON'),
  input: z.string().optional().describe('Of a call of a custom tool: its input'),
});

export const responsesResult = z.looseObject({
  id: z.string().describe('The maker’s id of the answer, or one made from the request id'),
  object: z.literal('response').describe('Always response'),
  created_at: z.int().describe('When, in seconds since 1970'),
  status: z.string().describe('completed, or incomplete'),
  model: z.string().describe('The model that answered'),
  store: z.literal(false).describe('Always false: nothing is stored'),
  output: z.array(outputItem).describe('What the model says and calls, in order'),
  incomplete_details: z
    .object({ reason: z.string().describe('max_output_tokens or content_filter') })
    .nullable()
    .describe('Why an answer is incomplete'),
  usage: responsesUsage.describe('What was used, and its cost'),
});
