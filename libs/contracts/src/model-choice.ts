// `model` and `models`: what every model endpoint accepts.
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
      'Models to fall back on, in order, where the ones before cannot answer; only the one that answered is charged',
    ),
};

/** What `namesAModel` asks for, in JSON Schema's words. */
export const ONE_OF_THEM_REQUIRED = { anyOf: [{ required: ['model'] }, { required: ['models'] }] };

export const providerOptions = z
  .record(z.string(), z.unknown())
  .nullish()
  .describe('Passed on to the model’s maker unchanged; members that select or price the work are refused');

export function namesAModel(body: { model?: string | undefined; models?: string[] | undefined }): boolean {
  return body.model !== undefined || body.models !== undefined;
}
export const NAMES_A_MODEL = { message: 'is required (or give `models`)', path: ['model'] };
