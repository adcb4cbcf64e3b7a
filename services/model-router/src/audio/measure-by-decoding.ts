// The length of a file whose kind is not counted here: it is decoded by ffmpeg, where that is installed, and the samples are
// counted as they come.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BYTES_PER_SAMPLE, decodeSound } from '../local/decode-sound.ts';
import { LocalRefusal } from '../local/local-refusal.ts';
import { ProgramFailed } from '../local/run-program.ts';

const RATE_HZ = 8_000;
/** Decoding runs many times faster than the sound does. */
const DECODE_TIMEOUT_MS = 60_000;

/** Seconds; null when it cannot be decoded, or not here. */
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
  // A file that is damaged at its end still has what came before.
  await decoder.done.catch((error: unknown) => {
    if (!(error instanceof ProgramFailed) || bytes === 0) throw error;
  });
  return bytes / BYTES_PER_SAMPLE / RATE_HZ;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}
