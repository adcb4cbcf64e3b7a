// A model call on the bus: the head that the edge sends with the caller's own bytes, and what comes back around the
// answer's bytes. The bodies of the endpoints are in chat.ts, embeddings.ts, transcription.ts and the like.
import { z } from 'zod';
import { chargedCall } from './charged-call.ts';
import { dialect } from './dialects.ts';
import type { ModelType } from './model-types.ts';

/** Bytes of a JSON body on a model endpoint (a 20 MB body of images must go through). */
export const MODEL_BODY_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Head of the bus call `model-router.v1.<type>.call`; its body is the caller's own bytes. The edge has parsed the body
 * and passes on here what the router needs, so that it is parsed only once.
 */
export const modelCallHead = z.object({
  ...chargedCall.shape,
  /** `model`, then `models`, in order, without repeats. */
  models: z.array(z.string()).min(1),
  /** Of a language model: the shape of the body and of the answer. */
  dialect: dialect.optional(),
  /** The caller's header `anthropic-beta`, for an upstream that speaks the dialect `messages`. */
  anthropic_beta: z.string().optional(),
  stream: z.boolean(),
  /** Whether the client itself asked for the usage chunk of a stream. */
  include_usage: z.boolean(),
  /** Bytes of the body: memory is reserved before it is requested. */
  body_bytes: z.int().nonnegative().optional(),
  /** Other fields of the request, if the body is a file: for a transcription, `TranscriptionParams`. */
  params: z.record(z.string(), z.unknown()).optional(),
});
export type ModelCallHead = z.infer<typeof modelCallHead>;

/** Head of the reply: what the edge needs before the first byte. */
export const modelReplyHead = z.object({
  status: z.int(),
  content_type: z.string(),
  /** Plain decimal dollars, where the price is known before the answer: for `X-Service-Cost` of a stream. */
  cost: z.string().optional(),
  /** Bytes of the body, if it is complete: a long one is still sent in pieces. */
  content_length: z.int().optional(),
});
export type ModelReplyHead = z.infer<typeof modelReplyHead>;

/** Meta of the end frame: the cost reported to the caller. */
export const modelReplyEnd = z.object({
  /** Plain decimal dollars, for `X-Service-Cost`. */
  cost: z.string(),
  /** Input and output tokens, for the caller's limit; 0 if the model counts none. */
  tokens: z.int().nonnegative().default(0),
});

/** Counts the input tokens of a body in the dialect `messages`, with the head of a call; the answer is JSON. */
export const COUNT_TOKENS_SUBJECT = 'model-router.v1.language.count';

export function modelCallSubject(type: ModelType): string {
  return `model-router.v1.${type}.call`;
}
