// Bodies that may be large, by a name that the checking thread understands, with the members that their route reads.
import {
  chatCompletionRequest,
  completionRequest,
  countTokensRequest,
  decisionsRequest,
  embeddingsRequest,
  execRequest,
  imagesRequest,
  messagesRequest,
  rerankRequest,
  responsesRequest,
  speechRequest,
  videosRequest,
} from '@switchyard/contracts';
import type { z } from 'zod';

/** The router reads all other members of a model call from the caller's bytes. */
const MODELS = ['model', 'models'] as const;
const STREAMED = [...MODELS, 'stream', 'stream_options'] as const;

export const CHECKED_BODIES = {
  chat: { schema: chatCompletionRequest, members: [...STREAMED, 'max_tokens', 'max_completion_tokens'] },
  responses: { schema: responsesRequest, members: [...STREAMED, 'max_output_tokens'] },
  completions: { schema: completionRequest, members: [...STREAMED, 'max_tokens'] },
  messages: { schema: messagesRequest, members: [...MODELS, 'stream', 'max_tokens'] },
  count_tokens: { schema: countTokensRequest, members: MODELS },
  embedding: { schema: embeddingsRequest, members: MODELS },
  image: { schema: imagesRequest, members: MODELS },
  speech: { schema: speechRequest, members: MODELS },
  decision: { schema: decisionsRequest, members: MODELS },
  rerank: { schema: rerankRequest, members: MODELS },
  video: { schema: videosRequest, members: MODELS },
  exec: {
    schema: execRequest,
    members: Object.keys(execRequest.shape) as (keyof typeof execRequest.shape)[],
  },
} as const satisfies Record<string, { schema: z.ZodType; members: readonly string[] }>;

export type CheckedBodyName = keyof typeof CHECKED_BODIES;
type Checked<N extends CheckedBodyName> = (typeof CHECKED_BODIES)[N];
/** The members that the route of a body reads. */
export type CheckedBody<N extends CheckedBodyName> = Pick<
  z.output<Checked<N>['schema']>,
  Checked<N>['members'][number] & keyof z.output<Checked<N>['schema']>
>;
