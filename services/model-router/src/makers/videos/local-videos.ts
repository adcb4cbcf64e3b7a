// local/video as a maker: the rendering is done while somebody looks at how the job stands. So a start is nothing but a
// promise, and may be repeated, and a rendering that died with its process is done again by whoever looks next.
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalRefusal } from '../../local/local-refusal.ts';
import { ProgramFailed, runProgram } from '../../local/run-program.ts';
import { renderVideo } from '../../local/video/render-video.ts';
import { type VideoJob, type VideoMaker, VideoNotTaken, type VideoProgress } from './video-maker.ts';

/** Renderings at once in a process: each takes a core and some 100 MB. */
const RENDERINGS_MAX = 2;

/** @param folder for files of renderings, on a disk; what a killed process left there goes at the next start */
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

/** @throws VideoNotTaken where ffmpeg is missing: another model may be there. */
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
    const file = await renderVideo(job, own, signal);
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
