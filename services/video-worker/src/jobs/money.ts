// Computes the money of a job from its record: the charge and the refunds.
import type { VideoRecord } from '@switchyard/contracts';

type Priced = Pick<VideoRecord, 'candidates' | 'refunded_nano'>;

/** The price of the first candidate model, which was charged when the job was created. */
export function chargedNano({ candidates }: Priced): bigint {
  return BigInt(candidates[0]?.cost_nano ?? '0');
}

/** The charge minus refunds. */
export function costNano(record: Priced): bigint {
  return chargedNano(record) - BigInt(record.refunded_nano);
}

/** Refund when this model takes the job; never negative, as a fallback never costs the caller more. */
export function differenceNano(record: Priced, model: string): bigint {
  const own = record.candidates.find((one) => one.model === model);
  const difference = chargedNano(record) - BigInt(own?.cost_nano ?? chargedNano(record));
  return difference > 0n ? difference : 0n;
}
