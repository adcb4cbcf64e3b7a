// A note on an image that is not opened: its media type and size.

/** `12 KB image/png` of a data URL; another URL is not opened. */
export function noteImage(url: string): string {
  const comma = url.indexOf(',');
  const head = /^data:([^;,]*)(.*)$/i.exec(url.slice(0, Math.max(comma, 0)));
  if (head === null) return 'by its address, which I do not open';
  const [, mediaType, attributes = ''] = head;
  const bytes = Buffer.byteLength(url.slice(comma + 1), /;base64$/i.test(attributes) ? 'base64' : 'utf8');
  return `${formatBytes(bytes)} ${mediaType || 'of unknown format'}`;
}

/** `one image: 12 KB image/png`, or `2 images: …; …`. */
export function describeImages(images: readonly string[]): string {
  const count = images.length === 1 ? 'one image' : `${images.length} images`;
  return `${count}: ${images.join('; ')}`;
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
}
