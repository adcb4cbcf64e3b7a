import { spawnSync } from 'node:child_process';
import { inflateSync } from 'node:zlib';
import { imagesResult } from '@switchyard/contracts';
import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../local-models.ts';
import { longestTurn } from '../test-longest-turn.ts';
import { toLines } from './caption.ts';

const ffmpegMissing = spawnSync('ffmpeg', ['-version']).status !== 0;
if (ffmpegMissing) console.warn('one test is skipped: ffmpeg (Debian package ffmpeg) is not installed');

async function images(body: Record<string, unknown>) {
  const answer = await createLocalModels({ now: () => 1_800_000_000_500 }).answer({
    type: 'image',
    model: 'image',
    body: Buffer.from(JSON.stringify({ model: 'local/image', ...body })),
    stream: false,
    signal: new AbortController().signal,
  });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  return { status: answer.status, ...JSON.parse(Buffer.concat(parts).toString()) };
}

async function png(body: Record<string, unknown>): Promise<Buffer> {
  const { status, data } = await images(body);
  expect(status).toBe(200);
  return Buffer.from(data[0].b64_json, 'base64');
}

interface Picture {
  width: number;
  height: number;
  at(x: number, y: number): [number, number, number];
}

/** Reads PNGs of this encoder (RGB, filters 0 and 2) from their bytes alone. */
function decode(file: Buffer): Picture {
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const parts: Buffer[] = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  const rows = inflateSync(Buffer.concat(parts));
  const stride = 3 * width;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < stride; x += 1) {
      const above = rows[y * (stride + 1)] === 2 && y > 0 ? (pixels[(y - 1) * stride + x] ?? 0) : 0;
      pixels[y * stride + x] = (rows[y * (stride + 1) + 1 + x] ?? 0) + above;
    }
  const channel = (x: number, y: number, index: number) => pixels[y * stride + 3 * x + index] ?? 0;
  return { width, height, at: (x, y) => [channel(x, y, 0), channel(x, y, 1), channel(x, y, 2)] };
}

const RED = ([r, g, b]: number[]) => (r ?? 0) > 190 && (g ?? 0) < 70 && (b ?? 0) < 70;
const BLUE = ([r, g, b]: number[]) => (b ?? 0) > 190 && (r ?? 0) < 90 && (g ?? 0) < 140;

/** Connected regions of a colour, specks left out. */
function regions({ width, height, at }: Picture, is: (colour: number[]) => boolean): number {
  const seen = new Uint8Array(width * height);
  let count = 0;
  for (let start = 0; start < seen.length; start += 1) {
    if (seen[start] || !is(at(start % width, Math.floor(start / width)))) continue;
    const open = [start];
    seen[start] = 1;
    let area = 0;
    for (let here = open.pop(); here !== undefined; here = open.pop()) {
      area += 1;
      const x = here % width;
      for (const next of [
        here - width,
        here + width,
        ...(x > 0 ? [here - 1] : []),
        ...(x < width - 1 ? [here + 1] : []),
      ])
        if (
          next >= 0 &&
          next < seen.length &&
          !seen[next] &&
          is(at(next % width, Math.floor(next / width)))
        ) {
          seen[next] = 1;
          open.push(next);
        }
    }
    if (area > 20) count += 1;
  }
  return count;
}

describe('local/image', () => {
  it('draws as many things as the prompt says, in their colours, on the background it names', async () => {
    const prompt = 'three red circles and two blue squares on a white background';
    for (const seed of [1, 2, 3]) {
      const picture = decode(await png({ prompt, size: '400x300', seed }));
      expect([regions(picture, RED), regions(picture, BLUE)]).toEqual([3, 2]);
      expect(picture.at(0, 0)).toEqual([255, 255, 255]);
    }
  });

  it('draws scenes: a sun above, the sea below, night dark and day light', async () => {
    const day = decode(await png({ prompt: 'a sun over the sea', size: '256x256', seed: 1 }));
    const sunny: number[] = [];
    for (let y = 0; y < 256; y += 1)
      for (let x = 0; x < 256; x += 1) {
        const [r, g, b] = day.at(x, y);
        if (r > 230 && g > 180 && b < 60) sunny.push(y);
      }
    expect(sunny.length).toBeGreaterThan(300);
    expect(Math.max(...sunny)).toBeLessThan(128);
    expect(day.at(5, 190)).toEqual([29, 100, 170]);
    const night = decode(await png({ prompt: 'a house at night', size: '256x256', seed: 1 }));
    expect(Math.max(...night.at(2, 2))).toBeLessThan(60);
    expect(Math.min(...day.at(2, 2))).toBeGreaterThan(60);
  });

  it('writes the prompt as a caption, and nothing where there is no room', async () => {
    const white = ([r, g, b]: number[]) => r === 255 && g === 255 && b === 255;
    const picture = decode(await png({ prompt: 'green triangle', size: '512x512', seed: 1 }));
    let letters = 0;
    for (let y = 480; y < 512; y += 1)
      for (let x = 0; x < 512; x += 1) if (white(picture.at(x, y))) letters += 1;
    expect(letters).toBeGreaterThan(300);
    expect(toLines('one two three four', 9, 2)).toEqual(['one two', 'three...']);
    expect(toLines('one', 3, 1)).toEqual([]);
  });

  it('is the same for the same seed, and not for another', async () => {
    const body = { prompt: 'five stars', size: '128x128' };
    const one = await png({ ...body, seed: 7 });
    expect((await png({ ...body, seed: 7 })).equals(one)).toBe(true);
    expect((await png({ ...body, seed: 8 })).equals(one)).toBe(false);
    const { data } = await images({ ...body, seed: 7, n: 2 });
    expect(data[0].b64_json).toBe(one.toString('base64'));
    expect(data[1].b64_json).not.toBe(data[0].b64_json);
  });

  it('draws something for any prompt', async () => {
    for (const prompt of ['an orange idea', '💡', '愛', 'zero circles', '9999999 trees']) {
      const picture = decode(await png({ prompt, size: '96x96', seed: 1 }));
      const colours = new Set<string>();
      for (let x = 0; x < 96; x += 1) for (let y = 0; y < 70; y += 1) colours.add(picture.at(x, y).join());
      expect(colours.size, prompt).toBeGreaterThan(20);
    }
  });

  it('has the size that is asked for', async () => {
    const sizeOf = async (body: object) => {
      const { width, height } = decode(await png({ prompt: 'a tree', ...body }));
      return `${width}x${height}`;
    };
    expect(await sizeOf({})).toBe('1024x1024');
    expect(await sizeOf({ size: 'auto' })).toBe('1024x1024');
    expect(await sizeOf({ size: '64x2048' })).toBe('64x2048');
    expect(await sizeOf({ aspect_ratio: '16:9' })).toBe('1368x768');
  });

  it.each([
    [{ size: '63x64' }, 'size'],
    [{ size: '2049x64' }, 'size'],
    [{ size: '64x64', aspect_ratio: '1:1' }, 'size'],
    [{ aspect_ratio: '1:99' }, 'aspect_ratio'],
    [{ aspect_ratio: '0:1' }, 'aspect_ratio'],
    [{ n: 11 }, 'n'],
    [{ output_format: 'webp' }, 'output_format'],
    [{ prompt: '' }, 'prompt'],
  ])('refuses %j, naming the field', async (body, param) => {
    expect(await images({ prompt: 'x', ...body })).toMatchObject({ status: 400, error: { param } });
  });

  it('answers in OpenAI’s shape, up to ten at a time', async () => {
    const answer = await images({ prompt: 'a red star', size: '64x64', n: 10 });
    const usage = { ...answer.usage, cost: 0.01 };
    const result = imagesResult.parse({ ...answer, model: 'local/image', usage });
    expect(result).toMatchObject({ created: 1_800_000_000, usage: { images: 10, output_tokens: 0 } });
    expect(result.data).toHaveLength(10);
  });

  it('lets others have their turn while it draws a large picture', async () => {
    const longest = await longestTurn(() =>
      png({ prompt: 'a forest, a mountain and the sea', size: '2048x2048', seed: 1 }),
    );
    expect(longest).toBeLessThan(250);
  });

  it.skipIf(ffmpegMissing)('is decoded by another program to the same pixels', async () => {
    const file = await png({ prompt: 'three red circles on a white background', size: '200x100', seed: 1 });
    const args = '-v error -f png_pipe -i pipe:0 -f rawvideo -pix_fmt rgb24 pipe:1'.split(' ');
    const { stdout, stderr } = spawnSync('ffmpeg', args, { input: file });
    expect(stderr.toString()).toBe('');
    expect(stdout).toHaveLength(200 * 100 * 3);
    const ours = decode(file);
    for (let y = 0; y < 100; y += 1)
      for (let x = 0; x < 200; x += 1)
        expect([...stdout.subarray(3 * (y * 200 + x), 3 * (y * 200 + x) + 3)]).toEqual(ours.at(x, y));
  });
});
