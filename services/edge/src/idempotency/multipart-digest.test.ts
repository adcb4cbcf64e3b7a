// Which multipart bodies count as the same request.
import { expect, test } from 'vitest';
import { multipartDigest, PARTS_MAX } from './multipart-digest.ts';

const MEGABYTE = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** A part as it is in a body: its headers and its content. */
const field = (name: string, value: string) => part(`name="${name}"`, value);
const file = (name: string, filename: string, value: string) =>
  part(`name="${name}"; filename="${filename}"`, value);
const part = (disposition: string, value: string) =>
  `Content-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;

async function digestOf(parts: string[], boundary = 'one'): Promise<string | null> {
  const body = Buffer.from(`${parts.map((one) => `--${boundary}\r\n${one}`).join('')}--${boundary}--\r\n`);
  const digest = multipartDigest(`multipart/form-data; boundary=${boundary}`);
  for (let from = 0; from < body.length; from += PIECE_BYTES)
    digest?.write(body.subarray(from, from + PIECE_BYTES));
  return (await digest?.end()) ?? null;
}

test('a field counts to its last byte, however long it is', async () => {
  const long = 'x'.repeat(2 * MEGABYTE);
  const digest = await digestOf([field('prompt', `${long}a`), field('model', 'acme/ears')]);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(await digestOf([field('prompt', `${long}a`), field('model', 'acme/ears')], 'two')).toBe(digest);
  expect(await digestOf([field('prompt', `${long}b`), field('model', 'acme/ears')])).not.toBe(digest);
  expect(await digestOf([field('prompt', long), field('model', 'acme/ears')])).not.toBe(digest);
});

test('names, also missing ones, filenames, order and the kind of a part count', async () => {
  const bodies = [
    [field('a', '1'), field('b', '2')],
    [field('b', '2'), field('a', '1')],
    [field('a', '1'), field('c', '2')],
    [field('a', '12')],
    [file('a', 'x.wav', '1'), field('b', '2')],
    [file('a', 'y.wav', '1'), field('b', '2')],
    [file('a', '', '1'), field('b', '2')],
    [part('filename="x.wav"', '1'), field('b', '2')],
    [part('filename="y.wav"', '1'), field('b', '2')],
    [part('filename*=x', '1'), field('b', '2')],
  ];
  const digests = await Promise.all(bodies.map((parts) => digestOf(parts)));
  expect(new Set(digests).size).toBe(bodies.length);
});

test('a body with too many parts has no digest', async () => {
  const parts = Array<string>(PARTS_MAX).fill(field('a', '1'));
  expect(await digestOf(parts)).toMatch(/^[0-9a-f]{64}$/);
  expect(await digestOf([...parts, field('a', '1')])).toBeNull();
});

test('a body that is incomplete or not multipart has no digest', async () => {
  const cut = multipartDigest('multipart/form-data; boundary=one');
  cut?.write(Buffer.from(`--one\r\n${field('a', '1')}`));
  expect(await cut?.end()).toBeNull();
  expect(multipartDigest('multipart/form-data')).toBeNull();
});
