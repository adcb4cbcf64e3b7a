// The error for a name that no model has.
import { ServiceError } from './errors.ts';

/** Names the model that was meant, since clients of one maker leave the maker out of the name. */
export function unknownModel(name: string, known: readonly { id: string }[], param = 'model'): ServiceError {
  const meant = known.find(({ id }) => id.endsWith(`/${name}`));
  const hint = meant ? ` Did you mean ${meant.id}?` : '';
  const message = `No model is called ${name}.${hint} GET /v1/models lists all models.`;
  return new ServiceError('model_not_found', message, { param });
}
