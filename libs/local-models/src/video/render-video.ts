// local/video: renders a real MP4. A camera moves over the scene that local/image draws for the prompt, or starts from
// the given first frame. The prompt is the caption, and also determines the chord on the sound track.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Canvas } from '../image/canvas.ts';
import { drawCaption } from '../image/caption.ts';
import { drawScene } from '../image/draw-scene.ts';
import { encodePng } from '../image/png.ts';
import { readPrompt } from '../image/read-prompt.ts';
import { seededRandom } from '../image/seeded-random.ts';
import { runProgram } from '../run-program.ts';
import { Turns } from '../turns.ts';

export const FRAMES_PER_SECOND = 25;
const RENDER_TIMEOUT_MS = 10 * 60_000;
/** CPU limit of the encoder, which uses one core; the other belongs to the worker. */
const CPU_SECONDS_MAX = 600;
const ENCODER_THREADS = 1;
const FILE_BYTES_MAX = 200 * 1024 * 1024;
/** Maximum side of the drawn scene, which is then enlarged; its shapes are flat. */
const SCENE_SIDE_MAX = 960;
/** Size of the scene relative to the picture; also the final zoom towards a first frame. */
const ROOM = 1.25;
const APPROACH = 0.15;
/** Duration of one camera round. */
const ROUND_SECONDS = 8;
/** The first frame is shown alone for this time, then with the caption. */
const CAPTION_AFTER_SECONDS = 0.5;
/** A first frame of a few MB can name a size whose decoded pixels fill the memory of the host. */
const PICTURE_PIXELS_MAX = 50_000_000;
const SAMPLE_RATE_HZ = 48_000;

/** The video to render. */
export interface LocalVideo {
  prompt: string;
  /** Seconds. */
  duration: number;
  /** Pixels; both even. */
  size: { width: number; height: number };
  generateAudio: boolean | null;
  /** The first frame. */
  image: { mediaType: string; bytes: Uint8Array } | null;
  /** Null: derived from the prompt. */
  seed: number | null;
}

/** ffmpeg's single-image demuxers by media type; none can open other files. */
const READERS: Readonly<Record<string, string>> = {
  'image/png': 'png_pipe',
  'image/jpeg': 'jpeg_pipe',
  'image/webp': 'webp_pipe',
  'image/gif': 'gif',
};

/**
 * Renders the video into a file in `folder` and returns its path.
 * @throws ProgramFailed, LocalRefusal 503 when ffmpeg is missing, the signal's reason
 */
export async function renderVideo(video: LocalVideo, folder: string, signal: AbortSignal): Promise<string> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RENDER_TIMEOUT_MS)]);
  const turns = new Turns(limited);
  const picture = await writePicture(video, folder, turns);
  const caption = await writeCaption(video, folder, turns);
  const file = join(folder, 'video.mp4');
  const output = outputOptions(video, file);
  const ffmpeg = runProgram(
    'ffmpeg',
    [
      ...['-nostdin', '-v', 'error', '-y', '-protocol_whitelist', 'file', '-timelimit', `${CPU_SECONDS_MAX}`],
      ...['-max_pixels', `${PICTURE_PIXELS_MAX}`, '-f', picture.reader, '-i', picture.file],
      ...['-f', 'png_pipe', '-i', caption],
      ...(video.generateAudio ? ['-f', 'lavfi', '-i', chordOf(video)] : []),
      ...['-filter_complex', video.image ? approach(video) : wander(video), '-map', '[out]'],
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

async function writePicture(video: LocalVideo, folder: string, turns: Turns): Promise<Picture> {
  const file = join(folder, 'picture');
  const { image, prompt, size } = video;
  if (image) {
    await writeFile(file, image.bytes);
    return { file, reader: READERS[image.mediaType] ?? 'png_pipe' };
  }
  const shrink = Math.min(1, SCENE_SIDE_MAX / Math.max(size.width, size.height));
  const side = (length: number) => Math.max(16, Math.round(length * shrink));
  const random = seededRandom(video.seed ?? digestOf(video).readUInt32BE(0));
  const scene = { width: side(size.width), height: side(size.height) };
  const canvas = await drawScene(readPrompt(prompt), '', scene, random, turns);
  await writeFile(file, await encodePng(canvas, turns));
  return { file, reader: 'png_pipe' };
}

/** The caption band; a black row when there is no room for text. */
async function writeCaption({ prompt, size }: LocalVideo, folder: string, turns: Turns): Promise<string> {
  const whole = new Canvas(size.width, size.height);
  const height = Math.max(1, drawCaption(whole, prompt));
  const band = new Canvas(size.width, height);
  band.pixels.set(whole.pixels.subarray(whole.pixels.length - band.pixels.length));
  const file = join(folder, 'caption.png');
  await writeFile(file, await encodePng(band, turns));
  return file;
}

/** Repeats one picture that is decoded once. */
const STILL = `loop=loop=-1:size=1,setpts=N/${FRAMES_PER_SECOND}/TB,fps=${FRAMES_PER_SECOND}`;

/** Moves the camera over a scene that is larger than the picture. */
function wander({ size: { width, height } }: LocalVideo): string {
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

/** Zooms in from the unchanged first frame. */
function approach({ duration, size: { width, height } }: LocalVideo): string {
  const ratio = width / height;
  // Crops before it scales: a picture of one row would be scaled to gigabytes.
  const fitted = `crop='max(1,min(iw,ih*${ratio}))':'max(1,min(ih,iw/${ratio}))':exact=1`;
  const grown = (side: number) => `'2*trunc(${side}*(1+${APPROACH}*t/${duration})/2)'`;
  return [
    `[0:v]${fitted},scale=${width}:${height},setsar=1,${STILL}`,
    `scale=w=${grown(width)}:h=${grown(height)}:eval=frame,crop=${width}:${height}[moving]`,
    `[moving][1:v]overlay=0:H-h:enable='gte(t,${CAPTION_AFTER_SECONDS})',format=yuv420p[out]`,
  ]
    .join(',')
    .replaceAll('],[', '];[');
}

/** Two notes with changing loudness, determined by the prompt. */
function chordOf(video: LocalVideo): string {
  const digest = digestOf(video);
  const note = (byte: number) => 220 * 2 ** ((digest.readUInt8(byte) % 12) / 12);
  const wave = (byte: number) => `0.2*sin(2*PI*${note(byte).toFixed(2)}*t)*(0.7+0.3*sin(2*PI*t/2))`;
  return `aevalsrc=exprs='${wave(4)}+${wave(5)}':s=${SAMPLE_RATE_HZ}:d=${video.duration}`;
}

function outputOptions({ duration, generateAudio }: LocalVideo, file: string): string[] {
  return [
    ...['-t', `${duration}`],
    ...['-c:v', 'libx264', '-preset', 'superfast', '-crf', '26', '-threads', `${ENCODER_THREADS}`],
    ...(generateAudio ? ['-map', '2:a', '-c:a', 'aac', '-b:a', '96k'] : []),
    ...['-fs', `${FILE_BYTES_MAX}`, '-movflags', '+faststart', '-f', 'mp4', file],
  ];
}

function digestOf({ prompt }: LocalVideo): Buffer {
  return createHash('sha256').update(prompt).digest();
}
