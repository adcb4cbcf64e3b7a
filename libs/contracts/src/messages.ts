// POST /v1/messages and POST /v1/messages/count_tokens: Anthropic's Messages API. The request is checked here in full,
// since the model-router translates it to chat: an unsupported field or block is refused by name.
import { z } from 'zod';
import { anyObject, boundedList, textOrList } from './bounded.ts';
import { CHAT_MESSAGES_MAX, CHAT_TOOLS_MAX, CONTENT_PARTS_MAX } from './chat.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest } from './model-choice.ts';

const STOP_SEQUENCES_MAX = 64;
const CONTEXT_EDITS_MAX = 16;

/** The only value of a field. */
function always<T extends string>(value: T, refusal?: string) {
  return z.literal(value, refusal).describe(`Always ${value}`);
}

const cacheControl = z
  .looseObject({ type: always('ephemeral') })
  .nullish()
  .describe('Cache the prompt up to here; makers other than Anthropic decide this themselves');

const textBlock = z.looseObject({
  type: always('text'),
  text: z.string().describe('The text'),
  cache_control: cacheControl,
});

const base64Source = z.looseObject({
  type: always('base64'),
  media_type: z.string().describe('Such as image/png or application/pdf'),
  data: z.string().describe('The file in base64'),
});
const urlSource = z.looseObject({ type: always('url'), url: z.string().describe('http or https') });

const imageBlock = z.looseObject({
  type: always('image'),
  source: z
    .discriminatedUnion('type', [base64Source, urlSource], { error: 'Use base64 or url.' })
    .describe('Where the image is'),
  cache_control: cacheControl,
});

const contentSource = z.looseObject({
  type: always('content'),
  content: textOrList(
    z.discriminatedUnion('type', [textBlock, imageBlock], { error: 'Use a text or image block.' }),
    { max: CONTENT_PARTS_MAX },
  ).describe('Text, or a list of text and image blocks'),
});
const textSource = z.looseObject({ type: always('text'), data: z.string().describe('The plain text') });

const documentBlock = z.looseObject({
  type: always('document'),
  source: z
    .discriminatedUnion('type', [base64Source, urlSource, textSource, contentSource], {
      error: 'Use base64, url, text or content.',
    })
    .describe('Where the document is'),
  title: z.string().nullish().describe('Name of the document'),
  context: z.string().nullish().describe('What the model should know about the document'),
  citations: z
    .looseObject({
      enabled: z.literal(false, 'Citations are not supported.').optional().describe('Always false'),
    })
    .nullish()
    .describe('Not supported'),
  cache_control: cacheControl,
});

const toolUseBlock = z.looseObject({
  type: always('tool_use'),
  id: z.string().min(1).describe('Id of the call, for its result'),
  name: z.string().min(1).describe('Name of the tool'),
  input: anyObject().describe('Arguments of the call'),
  cache_control: cacheControl,
});

const resultBlock = z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock], {
  error: 'Use a text, image or document block.',
});

const toolResultBlock = z.looseObject({
  type: always('tool_result'),
  tool_use_id: z.string().min(1).describe('Id of the call'),
  content: textOrList(resultBlock, { max: CONTENT_PARTS_MAX })
    .nullish()
    .describe('What the tool returned: text, or a list of text, image and document blocks'),
  is_error: z.boolean().nullish().describe('The tool failed'),
  cache_control: cacheControl,
});

const thinkingBlock = z.looseObject({
  type: always('thinking'),
  thinking: z.string().describe('The model’s thoughts, unchanged'),
  signature: z.string().describe('The signature from the answer, unchanged'),
});
const redactedThinkingBlock = z.looseObject({
  type: always('redacted_thinking'),
  data: z.string().describe('The data from the answer, unchanged'),
});

const userBlock = z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock, toolResultBlock], {
  error: 'Use a text, image, document or tool_result block.',
});
const assistantBlock = z.discriminatedUnion(
  'type',
  [textBlock, toolUseBlock, thinkingBlock, redactedThinkingBlock],
  { error: 'Use a text, tool_use, thinking or redacted_thinking block.' },
);

const texts = textOrList(textBlock, { max: CONTENT_PARTS_MAX });

const message = z.discriminatedUnion(
  'role',
  [
    z.looseObject({
      role: always('user'),
      content: textOrList(userBlock, { max: CONTENT_PARTS_MAX }).describe('Text, or a list of blocks'),
    }),
    z.looseObject({
      role: always('assistant'),
      content: textOrList(assistantBlock, { max: CONTENT_PARTS_MAX }).describe('Text, or a list of blocks'),
    }),
    // Claude Code sends instructions like this amid a conversation.
    z.looseObject({ role: always('system'), content: texts.describe('Instructions, from here on') }),
  ],
  { error: 'Use user, assistant or system.' },
);

const tool = z.looseObject({
  type: z
    .literal('custom', 'Only custom tools are supported; tools that Anthropic hosts or defines are not.')
    .nullish()
    .describe('custom, the default'),
  name: z.string().min(1).describe('Name of the tool'),
  description: z.string().nullish().describe('What the tool does, and when to use it'),
  input_schema: anyObject().describe('JSON Schema of the arguments'),
  strict: z.boolean().nullish().describe('Arguments must match the schema exactly'),
  cache_control: cacheControl,
});

const parallel = {
  disable_parallel_tool_use: z.boolean().nullish().describe('At most one tool call in the answer'),
};
const toolChoice = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: always('auto'), ...parallel }),
    z.looseObject({ type: always('any'), ...parallel }),
    z.looseObject({
      type: always('tool'),
      name: z.string().min(1).describe('Name of the tool'),
      ...parallel,
    }),
    z.looseObject({ type: always('none') }),
  ],
  { error: 'Use auto, any, tool or none.' },
);

const thinkingDisplay = z
  .enum(['summarized', 'omitted'], 'Use summarized or omitted.')
  .optional()
  .describe('Thoughts are summarized with either value');

const thinking = z.discriminatedUnion(
  'type',
  [
    z.looseObject({
      type: always('enabled'),
      budget_tokens: z.int().positive().describe('Tokens for thinking, within max_tokens'),
      display: thinkingDisplay,
    }),
    z.looseObject({ type: always('adaptive'), display: thinkingDisplay }),
    z.looseObject({ type: always('disabled') }),
  ],
  { error: 'Use enabled, adaptive or disabled.' },
);

const outputConfig = z.strictObject({
  effort: z
    .enum(['low', 'medium', 'high', 'xhigh', 'max'])
    .nullish()
    .describe('How thoroughly the model works, thinking included'),
  format: z
    .strictObject({
      type: always('json_schema'),
      schema: anyObject().describe('JSON Schema'),
    })
    .nullish()
    .describe('JSON Schema of the answer'),
});

/** The one edit without an effect on a prompt: Claude Code sends it with every request. */
const keepThinking = z.looseObject({
  type: always('clear_thinking_20251015', 'Only clear_thinking_20251015 is supported.'),
  keep: always('all', 'Only all is supported.'),
});

const NO_THREADS = 'Conversations are not stored. Send all messages.';

/** What the model reads: the fields of both endpoints. */
const prompt = {
  ...modelChoice,
  messages: boundedList(message, { min: 1, max: CHAT_MESSAGES_MAX }).describe(
    'The conversation so far, oldest first',
  ),
  system: texts.nullish().describe('Instructions: text, or a list of text blocks'),
  tools: boundedList(tool, { max: CHAT_TOOLS_MAX }).nullish().describe('Tools that the model may call'),
  tool_choice: toolChoice.nullish().describe('Whether and which tool the model must call'),
  thinking: thinking.nullish().describe('Whether the model thinks and shows its thoughts'),
  output_config: outputConfig.nullish().describe('Effort and format of the answer'),
  context_management: z
    .strictObject({ edits: boundedList(keepThinking, { max: CONTEXT_EDITS_MAX }).describe('The edits') })
    .nullish()
    .describe('Edits of the conversation; only those that keep everything'),
  cache_control: cacheControl,
};

/**
 * Anthropic's threads keep a conversation on the server; here the whole conversation is in each request. Its tool runners
 * ask for one first, and go on without when the refusal has these details.
 */
const thread = z
  .unknown()
  .optional()
  .superRefine((value, ctx) => {
    if (value !== undefined && value !== null)
      ctx.addIssue({
        code: 'custom',
        message: NO_THREADS,
        params: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
      });
  })
  .describe(`Not supported: ${NO_THREADS}`)
  .meta({ type: 'null' });

export const messagesRequest = z
  .strictObject({
    ...prompt,
    thread,
    max_tokens: z.int().positive().describe('Maximum tokens in the answer'),
    metadata: z
      .looseObject({ user_id: z.string().nullish().describe('Your own id of the user') })
      .nullish()
      .describe('About the request'),
    stop_sequences: boundedList(z.string(), { max: STOP_SEQUENCES_MAX })
      .nullish()
      .describe('Texts that end the answer, which omits them'),
    stream: z
      .boolean()
      .nullish()
      .describe('Answer in server-sent events, as the model writes; default false'),
    temperature: z.number().min(0).max(2).nullish().describe('How freely tokens are chosen'),
    top_p: z.number().min(0).max(1).nullish().describe('Share of the likeliest tokens to choose from'),
    top_k: z.int().nonnegative().nullish().describe('Number of likeliest tokens to choose from'),
    service_tier: z.enum(['auto', 'standard_only']).nullish().describe('Always served as standard'),
  })
  .apply(modelRequest, {
    description: 'Anthropic’s Messages API, for every language model. Unsupported fields are refused by name',
    examples: [
      { model: 'local/chat', max_tokens: 256, messages: [{ role: 'user', content: 'What is 6 * 7?' }] },
    ],
  });
export type MessagesRequest = z.output<typeof messagesRequest>;

export const countTokensRequest = z.strictObject(prompt).apply(modelRequest, {
  description: 'The request whose input tokens are counted; nothing is sent to a model',
  examples: [{ model: 'local/chat', messages: [{ role: 'user', content: 'What is 6 * 7?' }] }],
});
export type CountTokensRequest = z.output<typeof countTokensRequest>;

export const tokenCount = z.object({
  input_tokens: z.int().describe('An estimate, for which spending limits hold money'),
});

const messagesUsage = z.looseObject({
  input_tokens: z.int().describe('Tokens in, without those read from or written to a cache'),
  cache_creation_input_tokens: z.int().describe('Tokens in, written to the maker’s cache'),
  cache_read_input_tokens: z.int().describe('Tokens in, read from the maker’s cache'),
  output_tokens: z.int().describe('Tokens out, thinking included'),
  cost: dollars,
});

export const textContent = z.looseObject({
  type: z.literal('text'),
  text: z.string().describe('The text; in a stream, deltas follow'),
});
export const thinkingContent = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.string().describe('The thoughts; in a stream, deltas follow'),
  signature: z.string().optional().describe('Return it unchanged with the thoughts'),
});
export const redactedThinkingContent = z.looseObject({
  type: z.literal('redacted_thinking'),
  data: z.string().describe('Return it unchanged'),
});
export const toolUseContent = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().describe('Id of the call, for its result'),
  name: z.string().describe('Name of the tool'),
  input: z.record(z.string(), z.unknown()).describe('Input of the tool; in a stream, deltas follow'),
});

export const contentBlock = z.discriminatedUnion('type', [
  textContent,
  thinkingContent,
  redactedThinkingContent,
  toolUseContent,
]);

export const messagesAnswer = z.looseObject({
  id: z.string().describe('Id of the answer'),
  type: always('message'),
  role: always('assistant'),
  model: z.string().describe('The model that answered'),
  content: z.array(contentBlock).describe('What the model says'),
  stop_reason: z.string().nullable().describe('end_turn, max_tokens, stop_sequence, tool_use or refusal'),
  stop_sequence: z.string().nullable().describe('The stop sequence that ended the answer'),
  usage: messagesUsage.describe('What was used, and its cost'),
});
