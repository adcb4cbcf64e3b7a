// The last net under field-rules.ts: a setting of the caller's that the AI SDK says it left out.
import type { SharedV4Warning } from '@ai-sdk/provider';
import { UnsupportedField } from './translation.ts';

/** The AI SDK's names of our fields. */
const FIELDS: Readonly<Record<string, string>> = {
  size: 'size',
  aspectRatio: 'aspect_ratio',
  seed: 'seed',
  n: 'n',
  voice: 'voice',
  outputFormat: 'response_format',
  speed: 'speed',
  instructions: 'instructions',
  language: 'language',
  timestampGranularities: 'timestamp_granularities',
};

/**
 * @param fields what the caller asked of the model: a warning of anything else is none of the caller's.
 * @throws UnsupportedField where one of them was left out.
 */
export function refuseWhatWasLeftOut(
  warnings: readonly SharedV4Warning[] | undefined,
  fields: Readonly<Record<string, unknown>>,
): void {
  for (const warning of warnings ?? []) {
    if (warning.type !== 'unsupported') continue;
    const field = FIELDS[warning.feature];
    if (field !== undefined && fields[field] !== undefined)
      throw new UnsupportedField(field, `${field}: ${warning.details ?? 'the model does not take it'}`);
  }
}
