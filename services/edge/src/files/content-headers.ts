// Headers of a file's bytes. Callers upload any content under any name and type, so a file is sent as a download and
// never displayed: no browser runs it as a page of ours, and no name can end or extend a header.
import type { FileObject } from '@switchyard/contracts';

/** Bytes from `start` up to, but not including, `end`. */
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

/** RFC 6266: the name in ASCII for all clients, and exactly for clients that support RFC 8187. */
export function attachment(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
