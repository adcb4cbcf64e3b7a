// POST /v1/completions: OpenAI's legacy completion of a text. The router turns it into a chat of one message.
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { chatCompletion, chatCompletionRequest, chatUsage } from './chat.ts';
import { modelChoice, modelRequest, refusedField } from './model-choice.ts';

const { stream, stream_options, temperature, top_p, n, max_tokens, stop } = chatCompletionRequest.shape;
const NAMED_MAX_TOKENS = 'Use max_tokens.';

export const completionRequest = z
  .looseObject({
    ...modelChoice,
    prompt: z
      .union([z.string(), boundedList(z.string(), { min: 1, max: 1 })])
      .describe('The text to answer, or a list with one text'),
    ...{ stream, stream_options, temperature, top_p, n, max_tokens, stop },
    ...{
      max_completion_tokens: refusedField(NAMED_MAX_TOKENS),
      max_output_tokens: refusedField(NAMED_MAX_TOKENS),
    },
    suffix: refusedField('Chat models write no text before a suffix. Remove it.'),
    echo: z
      .literal(false, 'Chat models do not repeat the prompt. Remove it.')
      .nullish()
      .describe('Only false: chat models do not repeat the prompt'),
    logprobs: refusedField('Use logprobs of /v1/chat/completions.'),
    best_of: z
      .literal(1, 'Every answer is returned. Use n.')
      .nullish()
      .describe('Only 1: every answer is returned'),
  })
  .apply(modelRequest, {
    description:
      'OpenAI’s legacy completions. The prompt is sent as one user message. Fields that are not listed here go to the maker as they are',
    examples: [{ model: 'local/chat', prompt: 'What is 6 * 7?' }],
  });

const { id, created, model, usage } = chatCompletion.shape;

export const textCompletion = z.looseObject({
  id,
  object: z.literal('text_completion').describe('Always text_completion'),
  created,
  model,
  choices: z
    .array(
      z.looseObject({
        index: z.int().describe('Which of the n answers'),
        text: z.string().describe('What the model wrote'),
        logprobs: z.null().describe('Always null'),
        finish_reason: z.string().nullable().describe('stop, length or content_filter'),
      }),
    )
    .describe('The answers'),
  usage,
});

/** One event of a streamed completion; `data: [DONE]` follows the last one. */
export const textCompletionChunk = textCompletion.extend({
  usage: chatUsage.nullish().describe('In the last chunk: what was used, and its cost'),
});
