// POST /v1/rerank (and /v2/rerank, where Cohere's client looks for it): Cohere's and Jina's shape.
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest } from './model-choice.ts';

export const RERANK_DOCUMENTS_MAX = 1_000;

export const rerankRequest = z
  .looseObject({
    ...modelChoice,
    query: z.string().min(1).describe('What to search for'),
    documents: boundedList(
      z.union([z.string(), z.looseObject({ text: z.string().describe('The document') })]),
      { min: 1, max: RERANK_DOCUMENTS_MAX },
    ).describe('The texts to order'),
    top_n: z.int().min(1).nullish().describe('Return only this many of the best; default: all'),
    return_documents: z
      .boolean()
      .nullish()
      .meta({ description: 'Put each document into its result', default: false }),
  })
  .apply(modelRequest, {
    description: 'Cohere’s and Jina’s rerank. Further fields go to the maker as they are',
    examples: [
      {
        model: 'local/rerank',
        query: 'renting a computer',
        documents: ['Bread is baked from flour.', 'Computers are rented by the minute.'],
        top_n: 1,
      },
    ],
  });

export const rerankResult = z.looseObject({
  model: z.string().describe('The model that ranked them'),
  results: z
    .array(
      z.looseObject({
        index: z.int().describe('Position in the submitted documents, from 0'),
        relevance_score: z.number().describe('The higher the better; its scale is the model’s own'),
        document: z
          .looseObject({ text: z.string().describe('Its text') })
          .optional()
          .describe('The document, with `return_documents: true`'),
      }),
    )
    .describe('Best first'),
  usage: z
    .looseObject({
      searches: z.int().describe('Searches charged'),
      input_tokens: z.int().describe('Tokens in; 0 where the maker counts none'),
      cost: dollars,
    })
    .describe('What was used, and its cost'),
});
