// The money of a job, all of it from its record: what was charged, and what goes back when.
import type { VideoRecord } from '@switchyard/contracts';

type Priced = Pick<VideoRecord, 'candidates' | 'refunded_nano'>;

/** The price of the first model: what was charged when the job was taken. */
export function chargedNano({ candidates }: Priced): bigint {
  return BigInt(candidates[0]?.cost_nano ?? '0');
}

/** What is still charged. */
export function costNano(record: Priced): bigint {
  return chargedNano(record) - BigInt(record.refunded_nano);
}

/** What the caller gets back when this model takes the job: never less than nothing, as it never pays more. */
export function differenceNano(record: Priced, model: string): bigint {
  const own = record.candidates.find((one) => one.model === model);
  const difference = chargedNano(record) - BigInt(own?.cost_nano ?? chargedNano(record));
  return difference > 0n ? difference : 0n;
}
