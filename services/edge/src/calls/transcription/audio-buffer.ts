// The buffer that collects the audio of one request.
import { AUDIO_BYTES_MAX } from '@switchyard/contracts';
import { BodyBuffer } from '../../http/body-buffer.ts';

export const AUDIO_LIMIT = `The audio exceeds ${AUDIO_BYTES_MAX} bytes (25 MiB). Send a shorter file.`;

/** @param expectedBytes upper bound, if known: audio is never larger than the request that contains it */
export function audioBuffer(expectedBytes: number | null): BodyBuffer {
  return new BodyBuffer({ expectedBytes, bytesMax: AUDIO_BYTES_MAX, limit: AUDIO_LIMIT });
}
