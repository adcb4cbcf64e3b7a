import { createEgress } from '@switchyard/egress';
import { describe, expect, it } from 'vitest';
import { readPicture } from './picture.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3, 4]);
/** Quadratic time over a run of this length would take minutes. */
const RUN = 400_000;
const MS_MAX = 10_000;

const read = (data: string) =>
  readPicture(`data:image/png;base64,${data}`, {
    egress: createEgress({}),
    signal: new AbortController().signal,
    keep: () => {
      throw new Error('a data URL needs no download');
    },
  });

describe('decoding a data URL', () => {
  const base64 = PNG.toString('base64');

  it.each([
    ['unchanged', base64],
    ['with line breaks', `${base64.slice(0, 8)}\r\n${base64.slice(8)}\n`],
    ['without padding', base64.replace(/=+$/, '')],
    ['in its URL alphabet', PNG.toString('base64url')],
  ])('reads base64 %s', async (_, data) => {
    expect(await read(data)).toEqual({ mediaType: 'image/png', bytes: PNG });
  });

  it.each([
    ['spaces', ' '.repeat(RUN)],
    ['line breaks', '\n'.repeat(RUN)],
    ['spaces after padding', `${base64}=${' '.repeat(RUN)}`],
  ])('rejects invalid base64 after %s in linear time', async (_, run) => {
    const startedAt = performance.now();
    await expect(read(`${run}!`)).rejects.toMatchObject({ code: 'invalid_request', param: 'image' });
    expect(performance.now() - startedAt).toBeLessThan(MS_MAX);
  });
});
