// Measures a file of an unsupported format: ffmpeg decodes it, if installed, and the samples are counted.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { BYTES_PER_SAMPLE, decodeSound, LocalRefusal, ProgramFailed } from '@switchyard/local-models';
import { type Clock, Places } from '@switchyard/service';

const RATE_HZ = 8_000;
/** Each decoding takes a core. */
const DECODINGS_AT_ONCE = 2;
/** An org uses at most one core: a file that times out is not charged. */
const ORG_DECODINGS_AT_ONCE = 1;
/** Maximum wait for other decodings: shorter than clients wait, longer than a burst takes. */
const WAIT_MS_MAX = 120_000;
/** Decoding is many times faster than real time. */
const DECODE_TIMEOUT_MS = 60_000;
const RETRY_AFTER_S = 10;
/** A file with more audio tracks is not measured. */
const TRACKS_MAX = 8;
/** ffmpeg's words for a track that the file does not have. */
const NO_SUCH_TRACK = /matches no streams/;

/** Who waits for a decoding. */
export interface DecodingCaller {
  org: string;
  signal: AbortSignal;
}

/** The decodings of one process. */
export class AudioDecoder {
  readonly #places: Places;

  constructor(clock: Clock) {
    this.#places = new Places({
      max: DECODINGS_AT_ONCE,
      orgMax: ORG_DECODINGS_AT_ONCE,
      wait: { clock, msMax: WAIT_MS_MAX, late: busy },
    });
  }

  /**
   * Duration in seconds; null when the file cannot be decoded or ffmpeg is missing.
   * @throws ServiceError `service_unavailable` when other decodings take too long or the file cannot be stored
   */
  async measure(audio: Buffer, caller: DecodingCaller): Promise<number | null> {
    const place = await this.#places.take(1, caller);
    try {
      return await measureByDecoding(audio, caller.signal);
    } finally {
      place.release();
    }
  }
}

async function measureByDecoding(audio: Buffer, signal: AbortSignal): Promise<number | null> {
  const folder = await mkdtemp(join(tmpdir(), 'measure-')).catch(notStored);
  try {
    const file = join(folder, 'audio');
    await writeFile(file, audio, { signal }).catch((error) => {
      signal.throwIfAborted();
      return notStored(error);
    });
    return await decodeLongest(file, AbortSignal.any([signal, AbortSignal.timeout(DECODE_TIMEOUT_MS)]));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LocalRefusal || error instanceof ProgramFailed || isTimeout(error)) return null;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The longest track is charged, since makers differ in which track they read. The first one must be decodable. */
async function decodeLongest(file: string, signal: AbortSignal): Promise<number | null> {
  let longest: number | null = null;
  for (let track = 0; track < TRACKS_MAX; track += 1)
    try {
      longest = Math.max(longest ?? 0, await decode(file, signal, track));
    } catch (error) {
      if (longest === null || !(error instanceof ProgramFailed)) throw error;
      if (NO_SUCH_TRACK.test(error.message)) return longest;
    }
  return null;
}

async function decode(file: string, signal: AbortSignal, track: number): Promise<number> {
  const decoder = decodeSound(file, RATE_HZ, signal, track);
  let bytes = 0;
  for await (const chunk of decoder.output) bytes += (chunk as Buffer).length;
  // A file that is damaged at its end still counts up to there.
  await decoder.done.catch((error: unknown) => {
    if (!(error instanceof ProgramFailed) || bytes === 0) throw error;
  });
  return bytes / BYTES_PER_SAMPLE / RATE_HZ;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}

function busy(): ServiceError {
  const message = `Waited over ${WAIT_MS_MAX / 1_000} s for other audio files. Retry later.`;
  return new ServiceError('service_unavailable', message, { retryAfterS: RETRY_AFTER_S });
}

function notStored(cause: unknown): never {
  const message = 'The audio file could not be stored. Retry later.';
  throw new ServiceError('service_unavailable', message, { cause, retryAfterS: RETRY_AFTER_S });
}
