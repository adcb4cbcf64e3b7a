// Prices a video: seconds times the rate of its resolution.
import type { CatalogModel } from '@switchyard/contracts';
import { type ChargeLine, charge } from '@switchyard/money';

export interface VideoPrice {
  costNano: bigint;
  lines: ChargeLine[];
}

/**
 * The full price. Without a resolution, or with one that the model's table lacks, the highest rate applies, since the
 * resolution of the result is unknown.
 */
export function priceVideo(model: CatalogModel, duration: number, resolution: string | null): VideoPrice {
  const rates = model.pricing.second ?? {};
  const rate = resolution !== null && Object.hasOwn(rates, resolution) ? rates[resolution] : undefined;
  const prices = (rate === undefined ? Object.values(rates) : [rate]).map((each) => {
    const lines: ChargeLine[] = [{ unit: 'second', quantity: duration, rate: each }];
    return { costNano: charge(lines), lines };
  });
  return prices.reduce((highest, one) => (one.costNano > highest.costNano ? one : highest), FREE);
}

const FREE: VideoPrice = { costNano: 0n, lines: [] };
