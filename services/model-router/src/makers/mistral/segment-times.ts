// Mistral tells the times of segments or of words, under one name and never both; callers of words want segments too.
import { UnsupportedField } from '../ai-sdk/translation.ts';

/** @throws UnsupportedField where words are asked for. */
export function segmentTimes(granularities: unknown): Record<string, unknown> {
  if (Array.isArray(granularities) && granularities.includes('word'))
    throw new UnsupportedField(
      'timestamp_granularities',
      'timestamp_granularities: mistral gives the times of segments only',
    );
  return { timestamp_granularities: ['segment'] };
}
