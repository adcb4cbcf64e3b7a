import type { ModelObject } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Catalog } from '../catalog/catalog.ts';

/** Lists the catalog; `created` is when this router loaded it, since makers' dates are not ours to state. */
export function listModels(catalog: Catalog, clock: Clock): () => Promise<{ data: ModelObject[] }> {
  const created = Math.floor(clock.now() / 1000);
  return async () => ({ data: catalog.list(created) });
}
