import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Catalog } from '../catalog/catalog.ts';

/** Lists the catalog; `created` is the time when this router loaded it, since makers' dates are unknown. */
export function listModels(catalog: Catalog, clock: Clock) {
  const created = Math.floor(clock.now() / 1000);
  return async ({
    markup_percent: markup,
  }: OperationRequest<'models.list'>): Promise<OperationResponse<'models.list'>> => ({
    data: catalog.list(created, markup),
  });
}
