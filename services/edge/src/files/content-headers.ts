// The headers of a file's bytes. A file is whatever somebody uploaded, under whatever name and type: it is always saved and
// never shown, so that no browser runs it as a page of ours, and no name ends or extends a header.
import type { FileObject } from '@switchyard/contracts';

/** From `start` up to, and not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export function contentHeaders(
  file: FileObject,
  range: Range | null,
  requestId: string,
): Record<string, string> {
  const { start, end } = range ?? { start: 0, end: file.bytes };
  return {
    'content-type': file.media_type,
    'content-length': String(end - start),
    'content-disposition': attachment(file.filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private',
    'accept-ranges': 'bytes',
    etag: etagOf(file),
    'x-request-id': requestId,
    ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${file.bytes}` } : {}),
  };
}

export function etagOf({ sha256 }: Pick<FileObject, 'sha256'>): string {
  return `"${sha256}"`;
}

/** RFC 6266: the name in ASCII for all, and as it is for those who read RFC 8187. */
export function attachment(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/**
 * The one range that is asked for, of a file of so many bytes; null where none is, or it is of a kind that may be answered
 * with the whole; `unsatisfiable` where nothing of it is in the file.
 */
export function readRange(header: string | undefined, bytes: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes };
  }
  const start = Number(first);
  const end = last === '' ? bytes : Math.min(Number(last) + 1, bytes);
  if (last !== '' && Number(last) < start) return null;
  return start < bytes ? { start, end } : 'unsatisfiable';
}
