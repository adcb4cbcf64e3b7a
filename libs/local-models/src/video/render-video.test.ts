// Checks renderings of local/video with ffprobe and ffmpeg.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Canvas } from '../image/canvas.ts';
import { encodePng } from '../image/png.ts';
import { Turns } from '../turns.ts';
import { FRAMES_PER_SECOND, type LocalVideo, renderVideo } from './render-video.ts';

const VIDEO: LocalVideo = {
  prompt: 'A red balloon over the sea',
  duration: 2,
  size: { width: 320, height: 180 },
  generateAudio: null,
  image: null,
  seed: null,
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'switchyard-render-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const render = async (video: Partial<LocalVideo>, signal = new AbortController().signal) =>
  renderVideo({ ...VIDEO, ...video }, await mkdtemp(join(folder, 'r-')), signal);

/** Pixels of the frame at this second, in RGB. */
const frameAt = (file: string, second: number) =>
  execFileSync('ffmpeg', [
    ...['-v', 'error', '-i', file, '-ss', String(second), '-frames:v', '1'],
    ...['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'],
  ]);
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function probe(file: string) {
  const show = 'format=duration:stream=codec_name,width,height,nb_frames,duration,sample_aspect_ratio';
  const json = execFileSync('ffprobe', ['-v', 'error', '-show_entries', show, '-of', 'json', file], {
    encoding: 'utf8',
  });
  return JSON.parse(json) as { format: { duration: string }; streams: Record<string, string>[] };
}

/** A small file for many pixels: 1 bit each, all black. */
function blackPng(width: number, height: number): Buffer {
  const header = Buffer.from([...uint32(width), ...uint32(height), 1, 0, 0, 0, 0]);
  const rows = deflateSync(Buffer.alloc(height * (1 + Math.ceil(width / 8))));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const chunks = [chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([uint32(data.length), named, uint32(crc32(named))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

describe.skipIf(spawnSync('ffmpeg', ['-version']).error)('a rendering', () => {
  test.each([
    [320, 180, 1],
    [480, 854, 3],
    [64, 64, 2],
  ])('of %s x %s, %s s, has the requested size and length', async (width, height, duration) => {
    const { format, streams } = probe(await render({ size: { width, height }, duration }));
    expect(Number(format.duration)).toBe(duration);
    expect(streams).toEqual([
      expect.objectContaining({
        codec_name: 'h264',
        width,
        height,
        nb_frames: String(duration * FRAMES_PER_SECOND),
      }),
    ]);
  });

  test('has an audible sound track of the same length when one is requested', async () => {
    const file = await render({ generateAudio: true });
    const { streams } = probe(file);
    expect(streams.map(({ codec_name, duration }) => [codec_name, Number(duration)])).toEqual([
      ['h264', 2],
      ['aac', 2],
    ]);
    const { stderr } = spawnSync('ffmpeg', ['-i', file, '-af', 'volumedetect', '-f', 'null', '-'], {
      encoding: 'utf8',
    });
    expect(Number(/mean_volume: (-?[\d.]+) dB/.exec(stderr)?.[1])).toBeGreaterThan(-40);
  });

  test('moves, and depends only on its prompt and its seed', async () => {
    const file = await render({ seed: 1 });
    const [first, later] = [frameAt(file, 0), frameAt(file, 1)];
    expect(digest(first)).not.toBe(digest(later));
    expect(digest(frameAt(await render({ seed: 1 }), 0))).toBe(digest(first));
    expect(digest(frameAt(await render({ seed: 1, prompt: 'A green tree' }), 0))).not.toBe(digest(first));
  });

  test('shows its prompt at the bottom: white on black', async () => {
    const frame = frameAt(await render({ size: { width: 640, height: 360 } }), 1);
    const foot = frame.subarray(-640 * 3 * 10);
    const bright = foot.filter((value) => value > 200).length;
    const dark = foot.filter((value) => value < 50).length;
    expect(bright).toBeGreaterThan(200);
    expect(dark).toBeGreaterThan(foot.length / 2);
  });

  test('begins with the unchanged first frame', async () => {
    const canvas = new Canvas(64, 36);
    canvas.fillRectangle(0, 0, 64, 36, [200, 30, 40]);
    const bytes = await encodePng(canvas, new Turns(new AbortController().signal));
    const frame = frameAt(await render({ image: { mediaType: 'image/png', bytes } }), 0);
    const [red = 0, green = 0, blue = 0] = frame;
    for (const [seen, asked] of [
      [red, 200],
      [green, 30],
      [blue, 40],
    ] as const)
      expect(Math.abs(seen - asked)).toBeLessThan(12);
    expect(new Set(frame.filter((_value, at) => at % 3 === 0)).size).toBeLessThan(5);
  });

  test.each([
    [4_000, 1],
    [1, 4_000],
    [3, 2],
  ])('of a first frame of %i x %i is cropped before it is enlarged', async (width, height) => {
    const size = { width: 1920, height: 1080 };
    const file = await render({
      size,
      duration: 1,
      image: { mediaType: 'image/png', bytes: blackPng(width, height) },
    });
    expect(probe(file).streams).toEqual([expect.objectContaining({ ...size, sample_aspect_ratio: '1:1' })]);
  });

  test('of an invalid image fails with ffmpeg’s message', async () => {
    const image = { mediaType: 'image/png', bytes: Buffer.from('no picture') };
    await expect(render({ image })).rejects.toMatchObject({ name: 'ProgramFailed' });
  });

  test('of a picture with too many pixels fails before they are decoded', async () => {
    const image = { mediaType: 'image/png', bytes: blackPng(8_000, 8_000) };
    await expect(render({ image })).rejects.toMatchObject({ name: 'ProgramFailed' });
  });

  test('ends at once when it is cancelled', async () => {
    const ending = new AbortController();
    const rendering = render({ duration: 60, size: { width: 1920, height: 1080 } }, ending.signal);
    ending.abort(new Error('enough'));
    await expect(rendering).rejects.toThrow('enough');
  });
});
