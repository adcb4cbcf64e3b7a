// Bodies of the model endpoints. Ours are checked where we depend on them; everything else in a body belongs to the
// maker and passes untouched, so these objects are loose.
import { z } from 'zod';
import type { ModelType } from './model-types.ts';

/** Bytes of a JSON body on a model endpoint (a 20 MB body of images must go through). */
export const MODEL_BODY_BYTES_MAX = 32 * 1024 * 1024;
export const FALLBACK_MODELS_MAX = 16;
export const EMBEDDING_INPUTS_MAX = 2_048;

const modelName = z.string().min(1).max(256);

/** `model`, then `models` in order: what every model endpoint accepts. At least one of the two names a model. */
const modelChoice = {
  model: modelName.optional(),
  models: z.array(modelName).min(1).max(FALLBACK_MODELS_MAX).optional(),
};

function namesAModel(body: { model?: string | undefined; models?: string[] | undefined }): boolean {
  return body.model !== undefined || body.models !== undefined;
}
const NAMES_A_MODEL = { message: 'is required (or give `models`)', path: ['model'] };

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

export const embeddingsRequest = z
  .looseObject({
    ...modelChoice,
    input: z.union([
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(EMBEDDING_INPUTS_MAX),
      z.array(z.int().nonnegative()).min(1),
      z.array(z.array(z.int().nonnegative()).min(1)).min(1).max(EMBEDDING_INPUTS_MAX),
    ]),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    dimensions: z.int().positive().nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL);

/** Dollars, with at most 9 decimals. */
export const dollars = z.number().meta({ description: 'US dollars, at most 9 decimals' });

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

export const embeddingsResult = z.looseObject({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.looseObject({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  usage: z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int(), cost: dollars }),
});

/**
 * Head of the bus call `model-router.v1.<type>.call`; its body is the caller's own bytes. The edge has parsed the
 * body already and says here what the router must know, so that nobody parses it a second time.
 */
export const modelCallHead = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  /** `model`, then `models`, in order, without repeats. */
  models: z.array(z.string()).min(1),
  stream: z.boolean(),
  /** Whether the client itself asked for the usage chunk of a stream. */
  include_usage: z.boolean(),
  /** Milliseconds since the epoch when the edge took the call. */
  received_at: z.int(),
});
export type ModelCallHead = z.infer<typeof modelCallHead>;

/** Head of the reply: what the edge needs before the first byte. */
export const modelReplyHead = z.object({
  status: z.int(),
  content_type: z.string(),
});
export type ModelReplyHead = z.infer<typeof modelReplyHead>;

/** Meta of the end frame: the cost told to the caller and the usage event, so that the edge can publish it again. */
export const modelReplyEnd = z.object({
  /** Plain decimal dollars, for `X-Service-Cost`. */
  cost: z.string(),
  /** The usage event, word for word as it was published; absent when nothing reached a model. */
  event: z.string().optional(),
});
export type ModelReplyEnd = z.infer<typeof modelReplyEnd>;

export function modelCallSubject(type: ModelType): string {
  return `model-router.v1.${type}.call`;
}
