import type { ModelObject } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Catalog } from '../catalog/catalog.ts';

/** Lists the catalog; `created` is the time when this router loaded it, since makers' dates are unknown. */
export function listModels(catalog: Catalog, clock: Clock): () => Promise<{ data: ModelObject[] }> {
  const created = Math.floor(clock.now() / 1000);
  return async () => ({ data: catalog.list(created) });
}
