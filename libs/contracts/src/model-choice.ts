// `model` and `models`: what every model endpoint accepts.
import { z } from 'zod';

export const FALLBACK_MODELS_MAX = 16;

const modelName = z.string().min(1).max(256);

/** `model`, then `models` in order: what every model endpoint accepts. At least one of the two names a model. */
export const modelChoice = {
  model: modelName.optional(),
  models: z.array(modelName).min(1).max(FALLBACK_MODELS_MAX).optional(),
};

export function namesAModel(body: { model?: string | undefined; models?: string[] | undefined }): boolean {
  return body.model !== undefined || body.models !== undefined;
}
export const NAMES_A_MODEL = { message: 'is required (or give `models`)', path: ['model'] };
