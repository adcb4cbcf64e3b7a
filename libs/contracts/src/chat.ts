// POST /v1/chat/completions. Checked where we depend on it; everything else in a body belongs to the maker and passes
// untouched, so the objects are loose.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

const chatMessage = z.looseObject({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
});

export const chatCompletionRequest = z
  .looseObject({
    ...modelChoice,
    messages: z.array(chatMessage).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    n: z.int().min(1).max(128).nullish(),
    max_tokens: z.int().positive().nullish(),
    max_completion_tokens: z.int().positive().nullish(),
    stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
    tools: z.array(z.looseObject({ type: z.string() })).nullish(),
    response_format: z.looseObject({ type: z.string() }).nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL);

export const chatUsage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  cost: dollars,
});

export const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.string() }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: chatUsage,
});
