// What can be said of an image without seeing it: format, size in bytes and pixels, read from the file's own header.

export interface ImageNote {
  /** `PNG`, `JPEG`, `GIF`, `WebP`, or the media type's own words. */
  format: string | null;
  bytes: number | null;
  width: number | null;
  height: number | null;
  /** Named by an address: never fetched. */
  remote: boolean;
}

interface Header {
  format: string;
  width: number | null;
  height: number | null;
}

/** Bytes of the file that are decoded: a JPEG may carry a preview before its frame header. */
const HEADER_BYTES_MAX = 256 * 1024;
const JPEG_SEGMENTS_MAX = 256;

/** Reads a data URL's header; another URL is noted as remote. */
export function noteImage(url: string): ImageNote {
  const comma = url.indexOf(',');
  const declared =
    comma < 0 ? null : /^data:([^;,]*)((?:;[^;,]*)*)$/i.exec(url.slice(0, Math.min(comma, 200)));
  if (!declared) return { format: null, bytes: null, width: null, height: null, remote: true };
  const [, mediaType = '', attributes = ''] = declared;
  const base64 = /;base64$/i.test(attributes);
  const head = base64
    ? Buffer.from(url.slice(comma + 1, comma + 1 + Math.ceil(HEADER_BYTES_MAX / 3) * 4), 'base64')
    : Buffer.from(url.slice(comma + 1, comma + 1 + HEADER_BYTES_MAX));
  const header = readHeader(head);
  return {
    format: header?.format ?? (mediaType === '' ? null : mediaType),
    bytes: base64 ? base64Bytes(url, comma + 1) : url.length - comma - 1,
    width: header?.width ?? null,
    height: header?.height ?? null,
    remote: false,
  };
}

/** `one image: 12 KB PNG, 64×64`, or `2 images: …; …`. */
export function describeImages(images: readonly ImageNote[]): string {
  const count = images.length === 1 ? 'one image' : `${images.length} images`;
  return `${count}: ${images.map(describe).join('; ')}`;
}

function describe({ format, bytes, width, height, remote }: ImageNote): string {
  if (remote) return 'by its address, which I do not open';
  const size = bytes === null ? '' : `${formatBytes(bytes)} `;
  const pixels = width === null || height === null ? '' : `, ${width}×${height}`;
  return `${size}${format ?? 'of unknown format'}${pixels}`;
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
}

function base64Bytes(url: string, start: number): number {
  const padding = url.endsWith('==') ? 2 : url.endsWith('=') ? 1 : 0;
  return Math.floor(((url.length - start) * 3) / 4) - padding;
}

function readHeader(head: Buffer): Header | null {
  return readPng(head) ?? readGif(head) ?? readWebp(head) ?? readJpeg(head);
}

function readPng(head: Buffer): Header | null {
  if (head.length < 24 || head.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  return { format: 'PNG', width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

function readGif(head: Buffer): Header | null {
  if (head.length < 10 || !/^GIF8[79]a$/.test(head.toString('latin1', 0, 6))) return null;
  return { format: 'GIF', width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

function readWebp(head: Buffer): Header | null {
  if (
    head.length < 30 ||
    head.toString('latin1', 0, 4) !== 'RIFF' ||
    head.toString('latin1', 8, 12) !== 'WEBP'
  )
    return null;
  const chunk = head.toString('latin1', 12, 16);
  if (chunk === 'VP8X')
    return { format: 'WebP', width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8 ')
    return { format: 'WebP', width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  if (chunk === 'VP8L') {
    const bits = head.readUInt32LE(21);
    return { format: 'WebP', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return { format: 'WebP', width: null, height: null };
}

/** Walks a JPEG's segments to its frame header (SOF0 … SOF15, without the three markers that are none). */
function readJpeg(head: Buffer): Header | null {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  for (let segment = 0; segment < JPEG_SEGMENTS_MAX && at + 9 <= head.length; segment += 1) {
    const marker = head.readUInt16BE(at);
    if (marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker))
      return { format: 'JPEG', width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    at += 2 + head.readUInt16BE(at + 2);
  }
  return { format: 'JPEG', width: null, height: null };
}
