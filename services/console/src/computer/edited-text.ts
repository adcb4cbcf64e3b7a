// The text of a file while it is edited. A browser's text field has only LF: another line ending is kept apart.
export interface EditedText {
  readonly text: string;
  readonly lineEnd: '\n' | '\r\n';
}

/** @throws Error for a file that saving would change beyond the edits */
export function decodeText(bytes: ArrayBuffer): EditedText {
  const text = utf8(bytes);
  const withoutCrlf = text.replaceAll('\r\n', '');
  const isCrlf = withoutCrlf.length < text.length;
  if (withoutCrlf.includes('\r') || (isCrlf && withoutCrlf.includes('\n')))
    throw new Error('This file mixes line endings, which editing would change. Download it instead.');
  return { text: text.replaceAll('\r\n', '\n'), lineEnd: isCrlf ? '\r\n' : '\n' };
}

export function encodeText({ text, lineEnd }: EditedText): string {
  return text.replaceAll('\n', lineEnd);
}

function utf8(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Error('This file is not UTF-8 text, and editing would damage it. Download it instead.', {
      cause,
    });
  }
}
