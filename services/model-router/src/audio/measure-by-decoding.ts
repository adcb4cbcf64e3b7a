// Measures a file of an unsupported format: ffmpeg decodes it, if installed, and the samples are counted.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BYTES_PER_SAMPLE, decodeSound, LocalRefusal, ProgramFailed } from '@switchyard/local-models';

const RATE_HZ = 8_000;
/** Decoding is many times faster than real time. */
const DECODE_TIMEOUT_MS = 60_000;

/** Duration in seconds; null when the file cannot be decoded or ffmpeg is missing. */
export async function measureByDecoding(audio: Buffer, signal: AbortSignal): Promise<number | null> {
  const folder = await mkdtemp(join(tmpdir(), 'measure-'));
  try {
    const file = join(folder, 'audio');
    await writeFile(file, audio, { signal });
    return await decode(file, AbortSignal.any([signal, AbortSignal.timeout(DECODE_TIMEOUT_MS)]));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LocalRefusal || error instanceof ProgramFailed || isTimeout(error)) return null;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function decode(file: string, signal: AbortSignal): Promise<number | null> {
  const decoder = decodeSound(file, RATE_HZ, signal);
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
