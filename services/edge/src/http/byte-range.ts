// Content that is sent in parts: the header Range, in the one form that players and downloads use, and its answer.
import type { AskedRange, ContentPart } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';

/** Returns null without a range, or for a form that may be answered with the whole. */
export function readByteRange(header: string | undefined): AskedRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '') return last === '' ? null : { suffix: Number(last) };
  if (last === '') return { first: Number(first), last: null };
  return Number(last) < Number(first) ? null : { first: Number(first), last: Number(last) };
}

/** The part that a request asks for: its headers Range and If-Range. */
export function askedPart({ headers }: FastifyRequest) {
  return { range: readByteRange(headers.range), if_range: headers['if-range']?.toString() ?? null };
}

/** Headers of content that can be requested in parts. @param part the part that is sent; null: all */
export function partHeaders(
  mediaType: string,
  bytes: number,
  part: ContentPart | null,
): Record<string, string> {
  const { start, end } = part ?? { start: 0, end: bytes };
  return {
    'content-type': mediaType,
    'content-length': String(end - start),
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    ...(part ? { 'content-range': `bytes ${start}-${end - 1}/${bytes}` } : {}),
  };
}
