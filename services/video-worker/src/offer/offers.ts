// Finds which of the requested models can make a video, and the price of each.
import {
  type CatalogModel,
  type CreateVideoHead,
  ServiceError,
  type VideosRequest,
} from '@switchyard/contracts';
import { type Catalog, PricedMembers } from '@switchyard/model-router/video';
import { priceVideo, type VideoPrice } from './price-video.ts';
import { refusalOf } from './video-limits.ts';

export interface Offer extends VideoPrice {
  model: CatalogModel;
}

/**
 * Returns at least one offer, in the requested order, at the caller's prices. If the first model refuses, its error is
 * thrown; fallbacks that refuse are left out.
 * @throws ServiceError `model_not_found`, `wrong_endpoint`, `invalid_request`, `model_unavailable`
 */
export function offersFor(
  catalog: Catalog,
  { models: names, markup_percent: markup }: Pick<CreateVideoHead, 'models' | 'markup_percent'>,
  request: VideosRequest,
): [Offer, ...Offer[]] {
  const { duration, resolution, image: _megabytes, ...words } = request;
  const models = catalog.resolve(names, 'video', markup);
  const [first] = models;
  const priced = new PricedMembers('video', Buffer.from(JSON.stringify(words)));
  const able = models.filter((model) => {
    const refusal = priced.refusalOf(model) ?? refusalOf(model, request);
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
