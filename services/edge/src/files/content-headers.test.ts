import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentHeaders, readRange } from './content-headers.ts';

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

describe('a Range', () => {
  test.each([
    [undefined, null],
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=5-', { start: 5, end: 100 }],
    ['bytes=90-1000', { start: 90, end: 100 }],
    ['bytes=-10', { start: 90, end: 100 }],
    ['bytes=-1000', { start: 0, end: 100 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=-', null],
    ['bytes=5-4', null],
    ['bytes=0-1,3-4', null],
    ['items=0-1', null],
    ['bytes=0x1-2', null],
  ])('%j of 100 bytes is %j', (header, range) => {
    expect(readRange(header, 100)).toEqual(range);
  });

  test('of an empty file is ignored', () => {
    expect(readRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(readRange('bytes=-5', 0)).toBe('unsatisfiable');
  });
});
