import { createEgress } from '@switchyard/egress';
import { describe, expect, it } from 'vitest';
import { readPicture } from './picture.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3, 4]);
/** The square of such a run's length takes minutes. */
const RUN = 400_000;
const MS_MAX = 10_000;

const read = (data: string) =>
  readPicture(`data:image/png;base64,${data}`, createEgress({}), new AbortController().signal);

describe('the data of a data URL', () => {
  const base64 = PNG.toString('base64');

  it.each([
    ['as it is', base64],
    ['in lines', `${base64.slice(0, 8)}\r\n${base64.slice(8)}\n`],
    ['without its padding', base64.replace(/=+$/, '')],
    ['for URLs', PNG.toString('base64url')],
  ])('is read %s', async (_, data) => {
    expect(await read(data)).toEqual({ mediaType: 'image/png', bytes: PNG });
  });

  it.each([
    ['blanks', ' '.repeat(RUN)],
    ['lines', '\n'.repeat(RUN)],
    ['blanks behind padding', `${base64}=${' '.repeat(RUN)}`],
  ])('keeps nobody else waiting where it is no base64 behind %s', async (_, run) => {
    const startedAt = performance.now();
    await expect(read(`${run}!`)).rejects.toMatchObject({ code: 'invalid_request', param: 'image' });
    expect(performance.now() - startedAt).toBeLessThan(MS_MAX);
  });
});
