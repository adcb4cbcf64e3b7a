// Mistral returns the times of segments or of words, never both; callers who ask for words also expect segments.
import { UnsupportedField } from '../ai-sdk/translation.ts';

/** @throws UnsupportedField when words are requested. */
export function segmentTimes(granularities: unknown): Record<string, unknown> {
  if (Array.isArray(granularities) && granularities.includes('word'))
    throw new UnsupportedField('timestamp_granularities', 'mistral supports only segment.');
  return { timestamp_granularities: ['segment'] };
}
