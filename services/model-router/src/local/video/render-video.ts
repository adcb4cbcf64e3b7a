// local/video: a real MP4. The scene that the prompt names is drawn as for local/image and a camera wanders over it; a
// first frame that is given is what the camera starts from. The prompt is its caption, a chord of the prompt its sound.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VideoJob } from '../../makers/videos/video-maker.ts';
import { type VideoSize, videoSize } from '../../makers/videos/video-size.ts';
import { Canvas } from '../image/canvas.ts';
import { drawCaption } from '../image/caption.ts';
import { drawScene } from '../image/draw-scene.ts';
import { encodePng } from '../image/png.ts';
import { readPrompt } from '../image/read-prompt.ts';
import { seededRandom } from '../image/seeded-random.ts';
import { runProgram } from '../run-program.ts';
import { Turns } from '../turns.ts';

export const FRAMES_PER_SECOND = 25;
export const RESOLUTION_DEFAULT = '480p';
const RENDER_TIMEOUT_MS = 10 * 60_000;
/** Of the encoder: the other core is the worker's. */
const CPU_SECONDS_MAX = 600;
const ENCODER_THREADS = 1;
const FILE_BYTES_MAX = 200 * 1024 * 1024;
/** The scene is drawn this long and enlarged: shapes are flat. */
const SCENE_SIDE_MAX = 960;
/** How much larger than the picture the scene is that the camera wanders over; how far it goes towards a first frame. */
const ROOM = 1.25;
const APPROACH = 0.15;
/** Seconds of one round of the camera. */
const ROUND_SECONDS = 8;
/** The first frame stands alone for this long, then the caption comes. */
const CAPTION_AFTER_SECONDS = 0.5;
const SAMPLE_RATE_HZ = 48_000;

/** ffmpeg's readers of single pictures, by media type: nothing that could name other files is opened. */
const READERS: Readonly<Record<string, string>> = {
  'image/png': 'png_pipe',
  'image/jpeg': 'jpeg_pipe',
  'image/webp': 'webp_pipe',
  'image/gif': 'gif',
};

/**
 * Renders the job into a file in `folder` and returns its path.
 * @throws ProgramFailed, LocalRefusal 503 where ffmpeg is missing, the signal's reason
 */
export async function renderVideo(job: VideoJob, folder: string, signal: AbortSignal): Promise<string> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RENDER_TIMEOUT_MS)]);
  const size = videoSize(job.resolution ?? RESOLUTION_DEFAULT, job.aspectRatio) as VideoSize;
  const turns = new Turns(limited);
  const picture = await writePicture(job, size, folder, turns);
  const caption = await writeCaption(job.prompt, size, folder, turns);
  const file = join(folder, 'video.mp4');
  const output = outputOptions(job, file);
  const ffmpeg = runProgram(
    'ffmpeg',
    [
      ...['-nostdin', '-v', 'error', '-y', '-protocol_whitelist', 'file', '-timelimit', `${CPU_SECONDS_MAX}`],
      ...['-f', picture.reader, '-i', picture.file, '-f', 'png_pipe', '-i', caption],
      ...(job.generateAudio ? ['-f', 'lavfi', '-i', chordOf(job)] : []),
      ...['-filter_complex', job.image ? approach(job, size) : wander(size), '-map', '[out]'],
      ...output,
    ],
    limited,
  );
  ffmpeg.input.end();
  ffmpeg.output.resume();
  await ffmpeg.done;
  return file;
}

interface Picture {
  file: string;
  reader: string;
}

async function writePicture(job: VideoJob, size: VideoSize, folder: string, turns: Turns): Promise<Picture> {
  const file = join(folder, 'picture');
  const { image, prompt } = job;
  if (image) {
    await writeFile(file, image.bytes);
    return { file, reader: READERS[image.mediaType] ?? 'png_pipe' };
  }
  const shrink = Math.min(1, SCENE_SIDE_MAX / Math.max(size.width, size.height));
  const side = (length: number) => Math.max(16, Math.round(length * shrink));
  const random = seededRandom(job.seed ?? digestOf(job).readUInt32BE(0));
  const scene = { width: side(size.width), height: side(size.height) };
  const canvas = await drawScene(readPrompt(prompt), '', scene, random, turns);
  await writeFile(file, await encodePng(canvas, turns));
  return { file, reader: 'png_pipe' };
}

/** The band with the prompt's words; a row of black where there is no room for any. */
async function writeCaption(prompt: string, size: VideoSize, folder: string, turns: Turns): Promise<string> {
  const whole = new Canvas(size.width, size.height);
  const height = Math.max(1, drawCaption(whole, prompt));
  const band = new Canvas(size.width, height);
  band.pixels.set(whole.pixels.subarray(whole.pixels.length - band.pixels.length));
  const file = join(folder, 'caption.png');
  await writeFile(file, await encodePng(band, turns));
  return file;
}

/** One picture for ever, decoded once. */
const STILL = `loop=loop=-1:size=1,setpts=N/${FRAMES_PER_SECOND}/TB,fps=${FRAMES_PER_SECOND}`;

/** The camera goes round over a scene that is larger than its picture. */
function wander({ width, height }: VideoSize): string {
  const round = `2*PI*t/${ROUND_SECONDS}`;
  const at = (room: string, wave: string) => `'(${room})/2*(1+${wave}(${round}))'`;
  return [
    `[0:v]scale=${Math.ceil(width * ROOM)}:${Math.ceil(height * ROOM)},${STILL}`,
    `crop=${width}:${height}:${at('iw-ow', 'sin')}:${at('ih-oh', 'cos')}[moving]`,
    `[moving][1:v]overlay=0:H-h,format=yuv420p[out]`,
  ]
    .join(',')
    .replaceAll('],[', '];[');
}

/** From the first frame as it is, the camera comes closer. */
function approach({ duration }: VideoJob, { width, height }: VideoSize): string {
  const grown = (side: number) => `'2*trunc(${side}*(1+${APPROACH}*t/${duration})/2)'`;
  return [
    `[0:v]scale=${width}:${height}:force_original_aspect_ratio=increase,crop=${width}:${height},${STILL}`,
    `scale=w=${grown(width)}:h=${grown(height)}:eval=frame,crop=${width}:${height}[moving]`,
    `[moving][1:v]overlay=0:H-h:enable='gte(t,${CAPTION_AFTER_SECONDS})',format=yuv420p[out]`,
  ]
    .join(',')
    .replaceAll('],[', '];[');
}

/** Two notes that the prompt decides, swelling. */
function chordOf(job: VideoJob): string {
  const digest = digestOf(job);
  const note = (byte: number) => 220 * 2 ** ((digest.readUInt8(byte) % 12) / 12);
  const wave = (byte: number) => `0.2*sin(2*PI*${note(byte).toFixed(2)}*t)*(0.7+0.3*sin(2*PI*t/2))`;
  return `aevalsrc=exprs='${wave(4)}+${wave(5)}':s=${SAMPLE_RATE_HZ}:d=${job.duration}`;
}

function outputOptions({ duration, generateAudio }: VideoJob, file: string): string[] {
  return [
    ...['-t', `${duration}`],
    ...['-c:v', 'libx264', '-preset', 'superfast', '-crf', '26', '-threads', `${ENCODER_THREADS}`],
    ...(generateAudio ? ['-map', '2:a', '-c:a', 'aac', '-b:a', '96k'] : []),
    ...['-fs', `${FILE_BYTES_MAX}`, '-movflags', '+faststart', '-f', 'mp4', file],
  ];
}

function digestOf({ prompt }: VideoJob): Buffer {
  return createHash('sha256').update(prompt).digest();
}
