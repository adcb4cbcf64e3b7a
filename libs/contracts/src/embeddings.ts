// POST /v1/embeddings: OpenAI's shape.
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest } from './model-choice.ts';

export const EMBEDDING_INPUTS_MAX = 2_048;
/** Tokens of one text. */
const EMBEDDING_TOKENS_MAX = 131_072;

const tokens = boundedList(z.int().nonnegative(), { min: 1, max: EMBEDDING_TOKENS_MAX });
const inputs = { min: 1, max: EMBEDDING_INPUTS_MAX };

export const embeddingsRequest = z
  .looseObject({
    ...modelChoice,
    input: z
      .union([z.string().min(1), boundedList(z.string().min(1), inputs), tokens, boundedList(tokens, inputs)])
      .describe('One text or a list; tokens instead of texts where the model takes them'),
    encoding_format: z
      .enum(['float', 'base64'])
      .nullish()
      .describe('Numbers, or base64 of little-endian 32-bit floats; default float'),
    dimensions: z.int().positive().nullish().describe('Length of the vectors, where the model can choose'),
  })
  .apply(modelRequest, {
    description: 'OpenAI’s embeddings. Further fields go to the maker as they are',
    examples: [{ model: 'local/embed', input: ['heavy rain', 'a strong wind'] }],
  });

export const embeddingsResult = z.looseObject({
  object: z.literal('list').describe('Always list'),
  model: z.string().describe('The model that made them'),
  data: z
    .array(
      z.looseObject({
        object: z.literal('embedding').describe('Always embedding'),
        index: z.int().describe('Position in the input, from 0'),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe('The vector, in the encoding asked for'),
      }),
    )
    .describe('One vector for each text'),
  usage: z
    .looseObject({
      prompt_tokens: z.int().describe('Tokens in'),
      total_tokens: z.int().describe('The same: embeddings have no tokens out'),
      cost: dollars,
    })
    .describe('What was used, and its cost'),
});
