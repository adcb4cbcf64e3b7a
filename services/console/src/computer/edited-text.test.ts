import { expect, test } from 'vitest';
import { decodeText, encodeText } from './edited-text.ts';

test.each([
  ['LF', 'one\ntwo\n'],
  ['CRLF', 'one\r\ntwo\r\n'],
  ['a byte order mark', '\uFEFFone\r\n'],
  ['one line without an end', 'one'],
  ['nothing', ''],
])('a file with %s is saved unchanged', (_what, content) => {
  const bytes = new TextEncoder().encode(content);
  const { text, lineEnd } = decodeText(bytes.buffer);
  expect(text).not.toContain('\r');
  expect(new TextEncoder().encode(encodeText({ text, lineEnd }))).toEqual(bytes);
});

test('an edited line of a file with CRLF ends in CRLF', () => {
  const { lineEnd } = decodeText(new TextEncoder().encode('one\r\n').buffer);
  expect(encodeText({ text: 'one\ntwo\n', lineEnd })).toBe('one\r\ntwo\r\n');
});

test.each([
  ['not UTF-8', [0x63, 0x61, 0x66, 0xe9]],
  ['of lines that end in both ways', [0x61, 0x0d, 0x0a, 0x62, 0x0a]],
  ['of lines that end in CR', [0x61, 0x0d, 0x62]],
])('a file %s is refused', (_what, bytes) => {
  expect(() => decodeText(new Uint8Array(bytes).buffer)).toThrow('Download it instead.');
});
