// POST /v1/images/generations: OpenAI's path and shape; images come back as base64 only.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

export const IMAGES_PER_REQUEST_MAX = 10;
export const IMAGE_PROMPT_LENGTH_MAX = 32_000;

export const imagesRequest = z
  .looseObject({
    ...modelChoice,
    prompt: z.string().min(1).max(IMAGE_PROMPT_LENGTH_MAX),
    n: z.int().min(1).max(IMAGES_PER_REQUEST_MAX).nullish(),
    size: z
      .string()
      .regex(/^(auto|\d{2,5}x\d{2,5})$/, 'of the form <width>x<height>')
      .nullish(),
    aspect_ratio: z
      .string()
      .regex(/^\d{1,3}:\d{1,3}$/, 'of the form <w>:<h>')
      .nullish(),
    seed: z.int().nullish(),
    response_format: z.literal('b64_json', 'images come back as b64_json only').nullish(),
    provider_options: z.record(z.string(), z.unknown()).nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL)
  .refine(({ size, aspect_ratio }) => !size || !aspect_ratio, {
    message: 'give either size or aspect_ratio',
    path: ['size'],
  });

export const imagesResult = z.looseObject({
  created: z.int(),
  model: z.string(),
  data: z.array(z.looseObject({ b64_json: z.string() })),
  usage: z.looseObject({ images: z.int(), input_tokens: z.int(), output_tokens: z.int(), cost: dollars }),
});
