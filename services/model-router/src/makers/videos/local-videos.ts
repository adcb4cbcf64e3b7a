// local/video as a maker: the status check renders the video. A start does nothing and may be repeated, and the next
// status check restarts a rendering that died with its process.
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalRefusal, ProgramFailed, renderVideo, runProgram } from '@switchyard/local-models';
import { type VideoJob, type VideoMaker, VideoNotTaken, type VideoProgress } from './video-maker.ts';
import { videoSize } from './video-size.ts';

const RESOLUTION_DEFAULT = '480p';

/** Concurrent renderings per process; each takes one core and about 100 MB. */
const RENDERINGS_MAX = 2;

/** @param folder for rendering files, on a disk; leftovers of a killed process are removed at the next start */
export function localVideos(folder: string): VideoMaker {
  let rendering = 0;
  return {
    startIsIdempotent: () => true,
    async start(_upstream, job, signal) {
      await requireProgram(signal);
      return job.id;
    },
    async status(_taken, input, signal) {
      if (rendering >= RENDERINGS_MAX) return { state: 'pending' };
      rendering += 1;
      try {
        return await render(await input(), folder, signal);
      } finally {
        rendering -= 1;
      }
    },
  };
}

/** @throws VideoNotTaken when ffmpeg is missing, so that another model can be tried */
async function requireProgram(signal: AbortSignal): Promise<void> {
  const asked = runProgram('ffmpeg', ['-version'], signal);
  asked.input.end();
  asked.output.resume();
  try {
    await asked.done;
  } catch (error) {
    if (!(error instanceof LocalRefusal)) throw error;
    const { status, message } = error;
    throw new VideoNotTaken({ status, message, kind: 'fault', retryAfterS: null }, { cause: error });
  }
}

async function render(job: VideoJob, folder: string, signal: AbortSignal): Promise<VideoProgress> {
  await mkdir(folder, { recursive: true });
  const own = await mkdtemp(join(folder, `${job.id}-`));
  const clear = () => rm(own, { recursive: true, force: true });
  try {
    const { prompt, duration, generateAudio, image, seed } = job;
    const size = videoSize(job.resolution ?? RESOLUTION_DEFAULT, job.aspectRatio);
    const file = await renderVideo({ prompt, duration, size, generateAudio, image, seed }, own, signal);
    return { state: 'completed', mediaType: 'video/mp4', bytes: readAndClear(file, clear) };
  } catch (error) {
    await clear();
    if (error instanceof ProgramFailed) return { state: 'failed', message: error.message };
    throw error;
  }
}

async function* readAndClear(file: string, clear: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file);
  } finally {
    await clear();
  }
}
