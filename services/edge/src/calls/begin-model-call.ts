// The start of every model call: its models, and the part of its head that is the same for all types.
import type { KeyRecord, ModelCallHead } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { allowedModels, type Spending } from '../auth/spending.ts';

export interface AskedModels {
  model?: string | undefined;
  models?: string[] | undefined;
}

type CommonHead = Omit<ModelCallHead, 'stream' | 'include_usage' | 'params'> & { body_bytes: number };

/**
 * Sets the models on the request, for its log row and its kept answer.
 * @throws ServiceError `model_not_allowed`, `service_unavailable`
 */
export async function beginModelCall(
  { spending, clock }: { readonly spending: Spending; readonly clock: Clock },
  key: KeyRecord,
  request: FastifyRequest,
  asked: AskedModels,
  bodyBytes: number,
): Promise<CommonHead> {
  const names = namesOf(asked);
  request.subject.model = names[0] ?? null;
  const models = allowedModels(key, names);
  request.models = models;
  return {
    ...(await spending.chargedCall(request, key, clock.now())),
    models,
    body_bytes: bodyBytes,
  };
}

/** Returns `model`, then `models` in order, without duplicates. */
function namesOf({ model, models = [] }: AskedModels): string[] {
  return [...new Set(model === undefined ? models : [model, ...models])];
}
