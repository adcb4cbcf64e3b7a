// Packs data that a maker needs back with its reasoning (signatures, redacted blocks) as an item's `encrypted_content`.
// The maker has signed or encrypted it; here it is only encoded.
import type { ChatReasoningDetail } from '@switchyard/contracts';

/** Null when the maker needs nothing back. */
export function sealReasoning(details: readonly ChatReasoningDetail[]): string | null {
  return details.length === 0 ? null : Buffer.from(JSON.stringify(details)).toString('base64');
}

/** Empty for what was not sealed here, such as another service's reasoning: no maker of ours could read it. */
export function unsealReasoning(sealed: string): readonly ChatReasoningDetail[] {
  try {
    const details: unknown = JSON.parse(Buffer.from(sealed, 'base64').toString('utf8'));
    return Array.isArray(details) ? (details as ChatReasoningDetail[]) : [];
  } catch {
    return [];
  }
}
