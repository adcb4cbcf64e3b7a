// Decodes any audio file with ffmpeg into samples: one channel, 16 bits, little-endian.
import { type RunningProgram, runProgram } from './run-program.ts';

export const BYTES_PER_SAMPLE = 2;

/** Audio containers only; formats that refer to other files or URLs (playlists) are not opened. */
const CONTAINERS = 'wav,w64,mp3,flac,ogg,aac,ac3,aiff,au,caf,amr,mov,mp4,m4a,matroska,webm,asf';

/**
 * Decodes an audio track of a file, by default the first.
 * @param rateHz samples per second of the output
 * @returns `output` with everything that could be decoded, also of a file damaged at its end; `done` then fails
 */
export function decodeSound(file: string, rateHz: number, signal: AbortSignal, track = 0): RunningProgram {
  const quiet = ['-nostdin', '-v', 'error'];
  const source = ['-protocol_whitelist', 'file', '-format_whitelist', CONTAINERS, '-i', file];
  const samples = ['-map', `0:a:${track}`, '-ac', '1', '-ar', `${rateHz}`, '-f', 's16le', 'pipe:1'];
  const decoder = runProgram('ffmpeg', [...quiet, ...source, ...samples], signal);
  decoder.input.end();
  return decoder;
}
