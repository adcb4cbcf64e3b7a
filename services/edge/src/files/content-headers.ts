// Headers of a file's bytes. Callers and commands create content of any name and type, so a file is sent as a
// download and never displayed: no browser runs it as a page of ours, and no name can end or extend a header.
import type { ContentPart, FileObject } from '@switchyard/contracts';
import { partHeaders } from '../http/byte-range.ts';

interface Download {
  readonly name: string;
  readonly mediaType: string;
  /** Size of the whole file. */
  readonly bytes: number;
  readonly etag: string;
  /** The part that is sent; null: all. */
  readonly part: ContentPart | null;
}

export function downloadHeaders({ name, mediaType, bytes, etag, part }: Download): Record<string, string> {
  return {
    ...partHeaders(mediaType, bytes, part),
    'content-disposition': attachment(name),
    'content-security-policy': "default-src 'none'; sandbox",
    etag,
  };
}

export function contentHeaders(
  file: FileObject,
  part: ContentPart | null,
  requestId: string,
): Record<string, string> {
  const { filename: name, media_type: mediaType, bytes } = file;
  return {
    ...downloadHeaders({ name, mediaType, bytes, etag: etagOf(file), part }),
    'cache-control': 'private',
    'x-request-id': requestId,
  };
}

export function etagOf({ sha256 }: Pick<FileObject, 'sha256'>): string {
  return `"${sha256}"`;
}

/** RFC 6266: the name in ASCII for all clients, and exactly for clients that support RFC 8187. */
function attachment(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
