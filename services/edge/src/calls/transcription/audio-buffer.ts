// The memory that the audio of one request is put together in.
import { AUDIO_BYTES_MAX } from '@switchyard/contracts';
import { BodyBuffer } from '../../http/body-buffer.ts';

export const AUDIO_LIMIT = `the audio is over the limit of ${AUDIO_BYTES_MAX} bytes (25 MiB)`;

/** @param expectedBytes that it can become, where that is known: audio is never more than the request that brings it */
export function audioBuffer(expectedBytes: number | null): BodyBuffer {
  return new BodyBuffer({ expectedBytes, bytesMax: AUDIO_BYTES_MAX, limit: AUDIO_LIMIT });
}
