// Any file of sound -> its samples, by ffmpeg: one channel, 16 bits, little-endian.
import { type RunningProgram, runProgram } from './run-program.ts';

export const BYTES_PER_SAMPLE = 2;

/** Containers of sound only: nothing that names other files or addresses (playlists) is opened. */
const CONTAINERS = 'wav,w64,mp3,flac,ogg,aac,ac3,aiff,au,caf,amr,mov,mp4,m4a,matroska,webm,asf';

/**
 * Decodes a file's first sound.
 * @param rateHz samples a second of the output
 * @returns whose `output` has what could be decoded, also of a file that is damaged at its end; `done` then says so
 */
export function decodeSound(file: string, rateHz: number, signal: AbortSignal): RunningProgram {
  const quiet = ['-nostdin', '-v', 'error'];
  const source = ['-protocol_whitelist', 'file', '-format_whitelist', CONTAINERS, '-i', file];
  const samples = ['-map', '0:a:0', '-ac', '1', '-ar', `${rateHz}`, '-f', 's16le', 'pipe:1'];
  const decoder = runProgram('ffmpeg', [...quiet, ...source, ...samples], signal);
  decoder.input.end();
  return decoder;
}
