// The catalog file (YAML, docs/catalog.md) and the model object of GET /v1/models.
import { z } from 'zod';
import { listOf } from './lists.ts';
import { type MODEL_TYPES, modelType } from './model-types.ts';

const PRICE = 'must be a plain decimal string, in dollars';
const listPrice = z.string().regex(/^\d{1,12}(\.\d{1,18})?$/, PRICE);
/** A mark-up adds up to two digits before the point, and four after it. */
const ownPrice = z.string().regex(/^\d{1,14}(\.\d{1,22})?$/, PRICE);

const MODEL_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}\/[A-Za-z0-9._:@/-]{1,128}$/;
export const modelId = z.string().regex(MODEL_ID_PATTERN, 'must be <maker>/<model_name>');

/** Dollars per unit. Which units a type takes is checked in `catalogModel`. */
const pricingOf = (decimal: z.ZodString) =>
  z.strictObject({
    input_token: decimal.optional().describe('Dollars per input token'),
    cached_input_token: decimal.optional().describe('Dollars per input token that the maker had cached'),
    cache_write_input_token: decimal
      .optional()
      .describe('Dollars per input token that the maker caches on request'),
    cache_write_1h_input_token: decimal.optional().describe('The same, kept for an hour'),
    audio_input_token: decimal.optional().describe('Dollars per input token of sound, if its price differs'),
    cached_audio_input_token: decimal
      .optional()
      .describe('Dollars per input token of sound that the maker had cached'),
    output_token: decimal.optional().describe('Dollars per output token'),
    image: decimal.optional().describe('Dollars per image'),
    second: z.record(z.string(), decimal).optional().describe('Dollars per second of video, by resolution'),
    character: decimal.optional().describe('Dollars per spoken character'),
    minute: decimal.optional().describe('Dollars per minute of audio'),
    search: decimal.optional().describe('Dollars per search'),
  });
const listPricing = pricingOf(listPrice);
type Pricing = z.infer<typeof listPricing>;
/** What the caller pays. */
export const pricing = pricingOf(ownPrice);

/** For each type: sets of units; one of them must be fully priced. */
const PRICED_BY: Record<keyof typeof MODEL_TYPES, (keyof Pricing)[][]> = {
  language: [['input_token', 'output_token']],
  decision: [['input_token', 'output_token']],
  embedding: [['input_token']],
  image: [['image'], ['input_token', 'output_token']],
  video: [['second']],
  speech: [['character']],
  transcription: [['minute']],
  rerank: [['search'], ['input_token']],
};

const ATTEMPT_TIMEOUT_MS_DEFAULT = 120_000;
const FIRST_BYTE_TIMEOUT_MS_DEFAULT = 60_000;

export const upstream = z.strictObject({
  /** `openai-compatible`, `local`, or the name of a maker's adapter. */
  adapter: z.string().min(1),
  /** Named makers have a default; an OpenAI-compatible upstream could be anywhere. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** The upstream's own name for the model. */
  model: z.string().min(1),
  /** Name of the environment variable that holds the credentials; none: the maker's own, or the upstream needs none. */
  api_key_env: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .optional(),
  /** The whole attempt. */
  attempt_timeout_ms: z.int().min(10).max(600_000).default(ATTEMPT_TIMEOUT_MS_DEFAULT),
  /** For video: a start with the same `Idempotency-Key` is the same job, so a start may be retried. */
  idempotent_starts: z.boolean().optional(),
  /** Until the first byte of the answer's body. */
  first_byte_timeout_ms: z.int().min(10).max(600_000).default(FIRST_BYTE_TIMEOUT_MS_DEFAULT),
});
export type Upstream = z.infer<typeof upstream>;

export const catalogModel = z
  .strictObject({
    id: modelId,
    type: modelType,
    name: z.string().min(1),
    description: z.string().default(''),
    modalities: z.strictObject({ input: z.array(z.string()).min(1), output: z.array(z.string()).min(1) }),
    context_length: z.int().positive().optional(),
    /** Free-form limits that clients may show: dimensions, voices, sizes … */
    limits: z.record(z.string(), z.unknown()).default({}),
    supported_parameters: z.array(z.string()).default([]),
    pricing: listPricing,
    upstreams: z.array(upstream).min(1).max(16),
  })
  .check((context) => {
    const model = context.value;
    const complete = PRICED_BY[model.type].some((units) =>
      units.every((unit) => model.pricing[unit] !== undefined),
    );
    if (!complete)
      context.issues.push({
        code: 'custom',
        input: model.pricing,
        path: ['pricing'],
        message: `${model.id}: a ${model.type} model is priced by ${PRICED_BY[model.type].map((units) => units.join(' and ')).join(', or by ')}`,
      });
    for (const [index, one] of model.upstreams.entries())
      if (one.adapter === 'openai-compatible' && one.base_url === undefined)
        context.issues.push({
          code: 'custom',
          input: one,
          path: ['upstreams', index, 'base_url'],
          message: `${model.id}: adapter ${one.adapter} needs a base_url`,
        });
  });
export type CatalogModel = z.infer<typeof catalogModel>;

export const catalogFile = z.strictObject({ models: z.array(catalogModel) });

/** One entry of GET /v1/models. */
export const modelObject = z.object({
  id: modelId.describe('Value for `model`: <maker>/<model_name>'),
  object: z.literal('model').describe('Always model'),
  created: z.int().describe('When the catalog was loaded, in seconds since 1970'),
  owned_by: z.string().describe('Its maker'),
  name: z.string().describe('Its display name'),
  description: z.string().describe('What it is good for'),
  type: modelType.describe('Its type, which decides the endpoint and the unit charged'),
  endpoint: z.string().describe('The endpoint that serves it'),
  modalities: z
    .object({
      input: z.array(z.string()).describe('What it accepts: text, image, audio …'),
      output: z.array(z.string()).describe('What it produces'),
    })
    .describe('What it accepts and produces'),
  context_length: z.int().nullable().describe('Maximum of input and output tokens together; null: unknown'),
  pricing: pricing.describe('Your prices: dollars for each unit, as decimal strings'),
  limits: z.record(z.string(), z.unknown()).describe('Limits of its own: sizes, voices, lengths …'),
  supported_parameters: z.array(z.string()).describe('Optional fields of the request that it understands'),
  available: z.boolean().describe('Whether it can be called here'),
  unavailable_reason: z
    .string()
    .nullable()
    .describe('Why it is unavailable, with the variable to set; else null'),
});
export type ModelObject = z.infer<typeof modelObject>;
export const modelList = listOf(modelObject);
