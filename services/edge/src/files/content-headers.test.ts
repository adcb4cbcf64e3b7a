import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentHeaders } from './content-headers.ts';

const file = (filename: string) => ({
  id: 'file_x',
  object: 'file' as const,
  filename,
  media_type: 'text/html',
  bytes: 100,
  sha256: 'a'.repeat(64),
  purpose: 'user_data' as const,
  status: 'processed' as const,
  created_at: 1_795_219_200,
  created_at_iso: '2026-11-21T00:00:00.000Z',
});

describe('the headers of a file’s content', () => {
  test('encode any name as one attachment, decodable, without bytes that end or extend a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (name) => {
        const disposition = contentHeaders(file(name), null, 'req_x')['content-disposition'] ?? '';
        expect(disposition).toMatch(/^attachment; filename="[ !#$&-[\]-~]*"; filename\*=UTF-8''[\w.~!%-]*$/);
        expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? '')).toBe(name);
      }),
    );
  });

  test('contain the part of a range', () => {
    const headers = contentHeaders(file('a'), { start: 10, end: 20 }, 'req_x');
    expect(headers).toMatchObject({ 'content-length': '10', 'content-range': 'bytes 10-19/100' });
  });
});
