import { expect, test } from 'vitest';
import { linesOf } from './lines-of.ts';

const TEXT = 'one\n\nzwölf €\r\n{"last":true}';
const LINES = ['one', 'zwölf €\r', '{"last":true}'];

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1, 2, 3, 7, 1_000])(
  'pieces of %i bytes give whole lines, also a last line without a line end',
  async (size) => {
    expect(await Array.fromAsync(linesOf(inPieces(Buffer.from(TEXT), size)))).toEqual(LINES);
  },
);

test('an empty stream has no lines', async () => {
  expect(await Array.fromAsync(linesOf(inPieces(Buffer.alloc(0), 1)))).toEqual([]);
});

test('the stream’s error ends the lines', async () => {
  async function* broken() {
    yield Buffer.from('one\ntw');
    throw new Error('gone');
  }
  const lines = linesOf(broken());
  expect((await lines.next()).value).toBe('one');
  await expect(lines.next()).rejects.toThrow('gone');
});
