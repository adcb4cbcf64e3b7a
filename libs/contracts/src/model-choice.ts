// What model endpoints share: the fields that all accept, `model` and `models`, and fields that some refuse.
import { z } from 'zod';
import { boundedList } from './bounded.ts';

const FALLBACK_MODELS_MAX = 16;

const modelName = z.string().min(1).max(256);

/** `model`, then `models` in order: what every model endpoint accepts. At least one of the two names a model. */
export const modelChoice = {
  model: modelName.optional().describe('The model, as `<maker>/<model_name>`; see GET /v1/models'),
  models: boundedList(modelName, { min: 1, max: FALLBACK_MODELS_MAX })
    .optional()
    .describe(
      'Models to fall back on, in order, if those before them cannot answer; only the model that answered is charged',
    ),
};

export const providerOptions = z
  .record(z.string(), z.unknown())
  .nullish()
  .describe('Passed on to the model’s maker unchanged; members that select or price the work are refused');

type NamedModels = z.ZodType<{ model?: string | undefined; models?: string[] | undefined }>;

/** Requires `model` or `models`. Apply it last: a later refinement would drop what it adds to the OpenAPI document. */
export function modelRequest<S extends NamedModels>(
  request: S,
  about: { description?: string; examples?: unknown[] } = {},
) {
  return request
    .refine(({ model, models }) => model !== undefined || models !== undefined, {
      message: 'is required (or give `models`)',
      path: ['model'],
    })
    .meta({ ...about, anyOf: [{ required: ['model'] }, { required: ['models'] }] });
}

/** A field that clients know and this service refuses. It accepts only null and absence. `why` says what to do instead. */
export function refusedField(why: string) {
  return z.null(why).optional().describe(`Not supported: ${why}`);
}
