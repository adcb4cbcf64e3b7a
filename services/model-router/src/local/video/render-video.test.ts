// local/video by other programs' measure: ffprobe and ffmpeg decode what was rendered.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VideoJob } from '../../makers/videos/video-maker.ts';
import { Canvas } from '../image/canvas.ts';
import { encodePng } from '../image/png.ts';
import { Turns } from '../turns.ts';
import { FRAMES_PER_SECOND, renderVideo } from './render-video.ts';

const JOB: VideoJob = {
  id: 'vid_1',
  prompt: 'A red balloon over the sea',
  duration: 2,
  resolution: '320x180',
  aspectRatio: null,
  generateAudio: null,
  image: null,
  seed: null,
  providerOptions: {},
  further: {},
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'switchyard-render-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const render = async (job: Partial<VideoJob>, signal = new AbortController().signal) =>
  renderVideo({ ...JOB, ...job }, await mkdtemp(join(folder, 'r-')), signal);

/** The pixels of the frame at a second, in RGB. */
const frameAt = (file: string, second: number) =>
  execFileSync('ffmpeg', [
    ...['-v', 'error', '-i', file, '-ss', String(second), '-frames:v', '1'],
    ...['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'],
  ]);
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function probe(file: string) {
  const show = 'format=duration:stream=codec_name,width,height,nb_frames,duration';
  const json = execFileSync('ffprobe', ['-v', 'error', '-show_entries', show, '-of', 'json', file], {
    encoding: 'utf8',
  });
  return JSON.parse(json) as { format: { duration: string }; streams: Record<string, string>[] };
}

describe.skipIf(spawnSync('ffmpeg', ['-version']).error)('a rendering', () => {
  test.each([
    ['320x180', null, 1, 320, 180],
    ['480p', '9:16', 3, 480, 854],
    ['64x64', null, 2, 64, 64],
  ])(
    'of %s in %s is as large and as long as asked',
    async (resolution, aspectRatio, duration, width, height) => {
      const { format, streams } = probe(await render({ resolution, aspectRatio, duration }));
      expect(Number(format.duration)).toBe(duration);
      expect(streams).toEqual([
        expect.objectContaining({
          codec_name: 'h264',
          width,
          height,
          nb_frames: String(duration * FRAMES_PER_SECOND),
        }),
      ]);
    },
  );

  test('has a sound track of its own length where one is asked for, and is not silent', async () => {
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

  test('moves, and hangs on its prompt and its seed alone', async () => {
    const file = await render({ seed: 1 });
    const [first, later] = [frameAt(file, 0), frameAt(file, 1)];
    expect(digest(first)).not.toBe(digest(later));
    expect(digest(frameAt(await render({ seed: 1 }), 0))).toBe(digest(first));
    expect(digest(frameAt(await render({ seed: 1, prompt: 'A green tree' }), 0))).not.toBe(digest(first));
  });

  test('shows the prompt’s words at its foot: white on black', async () => {
    const frame = frameAt(await render({ resolution: '640x360' }), 1);
    const foot = frame.subarray(-640 * 3 * 10);
    const bright = foot.filter((value) => value > 200).length;
    const dark = foot.filter((value) => value < 50).length;
    expect(bright).toBeGreaterThan(200);
    expect(dark).toBeGreaterThan(foot.length / 2);
  });

  test('begins with the first frame that it is given, as it is', async () => {
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

  test('of a picture that is none fails with ffmpeg’s words', async () => {
    const image = { mediaType: 'image/png', bytes: Buffer.from('no picture') };
    await expect(render({ image })).rejects.toMatchObject({ name: 'ProgramFailed' });
  });

  test('ends at once when nobody wants it any more', async () => {
    const ending = new AbortController();
    const rendering = render({ duration: 60, resolution: '1080p' }, ending.signal);
    ending.abort(new Error('enough'));
    await expect(rendering).rejects.toThrow('enough');
  });
});
