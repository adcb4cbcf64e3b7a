// Which of the models asked for can make a video, and what each asks for it.
import { type CatalogModel, ServiceError, type VideosRequest } from '@switchyard/contracts';
import type { Catalog } from '@switchyard/model-router/video';
import { priceVideo, type VideoPrice } from './price-video.ts';
import { refusalOf } from './video-limits.ts';

export interface Offer extends VideoPrice {
  model: CatalogModel;
}

/**
 * In the order asked for, at least one. The first model's refusal is the answer; fallbacks that cannot are left out.
 * @throws ServiceError `model_not_found`, `wrong_endpoint`, `invalid_request`, `model_unavailable`
 */
export function offersFor(
  catalog: Catalog,
  names: readonly string[],
  request: VideosRequest,
): [Offer, ...Offer[]] {
  const { duration, resolution } = request;
  const models = catalog.resolve(names, 'video');
  const [first] = models;
  const able = models.filter((model) => {
    const refusal = refusalOf(model, request);
    if (refusal !== null && model === first) throw refusal;
    return refusal === null;
  });
  const [best, ...others] = able
    .filter((model) => catalog.usableUpstreams(model).length > 0)
    .map((model) => ({ model, ...priceVideo(model, duration, resolution ?? null) }));
  if (best) return [best, ...others];
  const reason = first ? `${first.id} is not available: ${catalog.unavailable(first)}` : 'no model was named';
  throw new ServiceError('model_unavailable', reason);
}
