// POST /v1/embeddings: OpenAI's shape.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

export const EMBEDDING_INPUTS_MAX = 2_048;

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
