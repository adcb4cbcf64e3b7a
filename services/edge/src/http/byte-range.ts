// Parses the header Range, in the one form that players and downloads use.
import type { AskedRange } from '@switchyard/contracts';

/** Returns null without a range, or for a form that may be answered with the whole. */
export function readByteRange(header: string | undefined): AskedRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '') return last === '' ? null : { suffix: Number(last) };
  if (last === '') return { first: Number(first), last: null };
  return Number(last) < Number(first) ? null : { first: Number(first), last: Number(last) };
}
