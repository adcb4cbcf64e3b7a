// POST /v1/images/generations: OpenAI's path and shape; images come back as base64 only.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest, providerOptions } from './model-choice.ts';

export const IMAGES_PER_REQUEST_MAX = 10;
const IMAGE_PROMPT_LENGTH_MAX = 32_000;

export const imagesRequest = z
  .looseObject({
    ...modelChoice,
    prompt: z.string().min(1).max(IMAGE_PROMPT_LENGTH_MAX).describe('What to draw'),
    n: z
      .int()
      .min(1)
      .max(IMAGES_PER_REQUEST_MAX)
      .nullish()
      .meta({ description: 'Number of images, each charged', default: 1 }),
    size: z
      .string()
      .regex(/^(auto|\d{2,5}x\d{2,5})$/, 'must be <width>x<height>')
      .nullish()
      .describe('<width>x<height> in pixels; leave it out for models that take only an aspect ratio'),
    aspect_ratio: z
      .string()
      .regex(/^\d{1,3}:\d{1,3}$/, 'must be <w>:<h>')
      .nullish()
      .describe('<w>:<h>; not together with size'),
    seed: z.int().nullish().describe('The same seed gives the same image, where the model supports it'),
    response_format: z
      .literal('b64_json', 'images come back as b64_json only')
      .nullish()
      .describe('Images come back as base64 only; nothing is stored'),
    stream: z.literal(false, 'images do not stream').nullish().describe('Images do not stream'),
    provider_options: providerOptions,
  })
  .refine(({ size, aspect_ratio }) => !size || !aspect_ratio, {
    message: 'give either size or aspect_ratio',
    path: ['size'],
  })
  .apply(modelRequest, {
    description:
      'OpenAI’s image generation. Fields that are not listed here (quality, style …) go to the maker',
    examples: [{ model: 'local/image', prompt: 'two red circles over the sea', size: '512x512' }],
  });

export const imagesResult = z.looseObject({
  created: z.int().describe('When, in seconds since 1970'),
  model: z.string().describe('The model that drew them'),
  data: z
    .array(z.looseObject({ b64_json: z.string().describe('The image, in base64') }))
    .describe('One element for each image'),
  usage: z
    .looseObject({
      images: z.int().describe('Images made'),
      input_tokens: z.int().describe('Tokens in; 0 where the maker counts none'),
      output_tokens: z.int().describe('Tokens out; 0 where the maker counts none'),
      cost: dollars,
    })
    .describe('What was used, and its cost'),
});
