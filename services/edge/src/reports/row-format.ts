// The format of rows in an answer: `format` decides, then `Accept`, else JSON.
import type { RowFormat } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';

export const MEDIA_TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

export type TextFormat = keyof typeof MEDIA_TYPES;

export function rowFormatOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  asked: RowFormat | undefined,
): RowFormat {
  if (asked) return asked;
  const accepted = (headers.accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  for (const type of accepted) {
    if (type === 'application/json' || type === '*/*') return 'json';
    for (const [format, media] of Object.entries(MEDIA_TYPES))
      if (type === media) return format as TextFormat;
  }
  return 'json';
}

/** Headers of rows in a text format. */
export function textHeaders(format: TextFormat, name: string, requestId: string): Record<string, string> {
  return {
    'content-type': `${MEDIA_TYPES[format]}; charset=utf-8`,
    'content-disposition': `attachment; filename="${name}.${format}"`,
    'cache-control': 'no-store',
    'x-request-id': requestId,
  };
}
