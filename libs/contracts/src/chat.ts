// POST /v1/chat/completions. Checked where we depend on it; everything else in a body belongs to the maker and passes
// untouched, so the objects are loose.
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest } from './model-choice.ts';

/** Messages of a conversation: many times the longest history of an agent. */
export const CHAT_MESSAGES_MAX = 10_000;
export const CONTENT_PARTS_MAX = 2_000;
export const CHAT_TOOLS_MAX = 1_024;
/** Calls in one message of the model. */
const TOOL_CALLS_MAX = 1_024;
const STOPS_MAX = 16;

const chatMessage = z.looseObject({
  role: z.string().min(1).describe('system, developer, user, assistant or tool'),
  content: z
    .union([
      z.string(),
      boundedList(z.looseObject({ type: z.string().describe('text, image_url, input_audio, file …') }), {
        max: CONTENT_PARTS_MAX,
      }),
      z.null(),
    ])
    .optional()
    .describe('Text, or a list of parts'),
  tool_calls: boundedList(z.unknown(), { max: TOOL_CALLS_MAX })
    .nullish()
    .describe('Of an assistant: the calls that it asked for'),
});

export const chatCompletionRequest = z
  .looseObject({
    ...modelChoice,
    messages: boundedList(chatMessage, { min: 1, max: CHAT_MESSAGES_MAX }).describe(
      'The conversation so far, oldest first',
    ),
    stream: z
      .boolean()
      .nullish()
      .describe(
        'Answer in server-sent events, as the model writes; default false. The last chunk has the cost',
      ),
    // Not loose: unknown options reach the maker in the caller's bytes; there may be very many to copy.
    stream_options: z
      .object({
        include_usage: z
          .boolean()
          .nullish()
          .describe('Adds a chunk with the usage. The cost is reported in any case'),
      })
      .nullish()
      .describe('Options of a stream'),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullish()
      .describe('How freely tokens are chosen; default: the model’s'),
    top_p: z.number().min(0).max(1).nullish().describe('Share of the likeliest tokens to choose from'),
    n: z.int().min(1).max(128).nullish().meta({ description: 'Answers to make, each charged', default: 1 }),
    max_tokens: z.int().positive().nullish().describe('Maximum tokens in the answer'),
    max_completion_tokens: z
      .int()
      .positive()
      .nullish()
      .describe('Like max_tokens, reasoning included: OpenAI’s newer name'),
    stop: z
      .union([z.string(), boundedList(z.string(), { max: STOPS_MAX })])
      .nullish()
      .describe('Texts that end the answer, which omits them'),
    tools: boundedList(
      z.looseObject({ type: z.string().describe('function, or a type that the maker has') }),
      { max: CHAT_TOOLS_MAX },
    )
      .nullish()
      .describe('Functions that the model may call'),
    response_format: z
      .looseObject({ type: z.string().describe('text, json_object or json_schema') })
      .nullish()
      .describe('Form of the answer: text, JSON, or JSON by a schema'),
  })
  .apply(modelRequest, {
    description:
      'OpenAI’s chat completions. Fields that are not listed here (seed, tool_choice, reasoning_effort …) go to the maker as they are',
    examples: [{ model: 'local/chat', messages: [{ role: 'user', content: 'What is 6 * 7?' }] }],
  });

export const chatUsage = z.looseObject({
  prompt_tokens: z.int().describe('Tokens in'),
  completion_tokens: z.int().describe('Tokens out, reasoning included'),
  total_tokens: z.int().describe('Both together'),
  cost: dollars,
});

const answerMessage = z.looseObject({
  role: z.string().describe('assistant'),
  content: z.string().nullish().describe('The text'),
  refusal: z.string().nullish().describe('Why the model refuses'),
  reasoning_content: z.string().nullish().describe('Its reasoning, where the model shows it'),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string().describe('Id of the call, for its result'),
        type: z.string().describe('function'),
        function: z
          .looseObject({
            name: z.string().describe('Its name'),
            arguments: z.string().describe('Its arguments, as JSON'),
          })
          .optional()
          .describe('The function to call'),
      }),
    )
    .nullish()
    .describe('Calls that it asks for'),
});

export const chatCompletion = z.looseObject({
  id: z.string().describe('The maker’s id of the answer'),
  object: z.literal('chat.completion').describe('Always chat.completion'),
  created: z.int().describe('When, in seconds since 1970'),
  model: z.string().describe('The model that answered'),
  choices: z
    .array(
      z.looseObject({
        index: z.int().describe('Which of the n answers'),
        message: answerMessage.describe('What the model says'),
        finish_reason: z.string().nullable().describe('stop, length, tool_calls or content_filter'),
      }),
    )
    .describe('The answers'),
  usage: chatUsage.describe('What was used, and its cost'),
});

const toolCallDelta = z.looseObject({
  index: z.int().optional().describe('Which call: its pieces have the same index'),
  id: z.string().nullish().describe('In the first piece: the id of the call, for its result'),
  type: z.string().nullish().describe('function'),
  function: z
    .looseObject({
      name: z.string().nullish().describe('In the first piece: its name'),
      arguments: z.string().nullish().describe('More of its arguments, as JSON'),
    })
    .optional()
    .describe('The function to call'),
});

export const chatDelta = z.looseObject({
  role: z.string().nullish().describe('In the first chunk: assistant'),
  content: z.string().nullish().describe('More text'),
  refusal: z.string().nullish().describe('More of a refusal'),
  reasoning_content: z.string().nullish().describe('More reasoning, where the model shows it'),
  tool_calls: z.array(toolCallDelta).nullish().describe('Pieces of function calls'),
});

/** One event of a streamed chat; `data: [DONE]` follows the last one. */
export const chatCompletionChunk = z.looseObject({
  id: z.string().describe('The maker’s id of the answer'),
  object: z.literal('chat.completion.chunk').describe('Always chat.completion.chunk'),
  created: z.int().describe('When, in seconds since 1970'),
  model: z.string().describe('The model that answers'),
  choices: z
    .array(
      z.looseObject({
        index: z.int().describe('Which of the n answers'),
        delta: chatDelta.describe('What is new'),
        finish_reason: z.string().nullish().describe('In the last chunk of an answer: why it ended'),
      }),
    )
    .describe('The answers; none in the usage chunk'),
  usage: chatUsage.nullish().describe('In the last chunk: what was used, and its cost'),
});
