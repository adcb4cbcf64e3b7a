// Last check after field-rules.ts: refuses an answer if the AI SDK ignored one of the caller's settings.
import type { SharedV4Warning } from '@ai-sdk/provider';
import { NOT_SUPPORTED, UnsupportedField } from './translation.ts';

/** The AI SDK's names for our fields, where they differ. */
const RENAMED: Readonly<Record<string, string>> = {
  aspectRatio: 'aspect_ratio',
  outputFormat: 'response_format',
  timestampGranularities: 'timestamp_granularities',
};

/**
 * @param fields the caller's fields; warnings about anything else are ignored.
 * @throws UnsupportedField when one of these fields was ignored.
 */
export function refuseIgnored(
  warnings: readonly SharedV4Warning[] | undefined,
  fields: Readonly<Record<string, unknown>>,
): void {
  for (const warning of warnings ?? []) {
    if (warning.type !== 'unsupported') continue;
    const field = RENAMED[warning.feature] ?? warning.feature;
    if (fields[field] !== undefined) throw new UnsupportedField(field, warning.details ?? NOT_SUPPORTED);
  }
}
