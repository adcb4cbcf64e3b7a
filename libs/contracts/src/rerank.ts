// POST /v1/rerank (and /v2/rerank, where Cohere's client looks for it): Cohere's and Jina's shape.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

export const RERANK_DOCUMENTS_MAX = 1_000;

export const rerankRequest = z
  .looseObject({
    ...modelChoice,
    query: z.string().min(1),
    documents: z
      .array(z.union([z.string(), z.looseObject({ text: z.string() })]))
      .min(1)
      .max(RERANK_DOCUMENTS_MAX),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL);

export const rerankResult = z.looseObject({
  model: z.string(),
  /** Best first. */
  results: z.array(
    z.looseObject({
      /** Position in the submitted documents. */
      index: z.int(),
      relevance_score: z.number(),
      document: z.looseObject({ text: z.string() }).optional(),
    }),
  ),
  usage: z.looseObject({ searches: z.int(), input_tokens: z.int(), cost: dollars }),
});
