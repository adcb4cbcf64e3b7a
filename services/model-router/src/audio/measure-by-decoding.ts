// The length of a file whose kind is not counted here: it is decoded by ffmpeg, where that is installed, and the samples are
// counted as they come.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalRefusal } from '../local/local-refusal.ts';
import { ProgramFailed, runProgram } from '../local/run-program.ts';

/** Containers of sound only: nothing that names other files or addresses (playlists) is opened. */
const CONTAINERS = 'wav,w64,mp3,flac,ogg,aac,ac3,aiff,au,caf,amr,mov,mp4,m4a,matroska,webm,asf';
const RATE_HZ = 8_000;
const BYTES_PER_SAMPLE = 2;
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
  const source = [
    '-nostdin',
    '-v',
    'error',
    '-protocol_whitelist',
    'file',
    '-format_whitelist',
    CONTAINERS,
    '-i',
    file,
  ];
  const sound = ['-map', '0:a:0', '-ac', '1', '-ar', `${RATE_HZ}`, '-f', 's16le', 'pipe:1'];
  const decoder = runProgram('ffmpeg', [...source, ...sound], signal);
  decoder.input.end();
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
