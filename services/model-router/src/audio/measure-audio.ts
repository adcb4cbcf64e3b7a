// Measures the true length of an audio file, which a transcription is charged by. Header values set by the sender are
// trusted only for a few milliseconds of padding.
import { type AudioFormatName, ServiceError } from '@switchyard/contracts';
import { measureAdts } from './adts.ts';
import type { AudioDecoder, DecodingCaller } from './audio-decoder.ts';
import { detectAudio } from './detect-audio.ts';
import { measureFlac } from './flac.ts';
import { measureMp4 } from './mp4.ts';
import { measureMpegAudio } from './mpeg-audio.ts';
import { measureOgg } from './ogg.ts';
import { measureWav } from './wav.ts';
import { measureWebm } from './webm.ts';

export interface MeasuredAudio {
  format: AudioFormatName;
  /** Rounded to milliseconds, and never 0. */
  seconds: number;
}

const MEASURES: Partial<Record<AudioFormatName, (bytes: Buffer) => number | null>> = {
  mp3: measureMpegAudio,
  wav: measureWav,
  flac: measureFlac,
  ogg: measureOgg,
  mp4: measureMp4,
  webm: measureWebm,
  aac: measureAdts,
};

const MILLIS = 1_000;

interface MeasureDeps {
  decoder: AudioDecoder;
}

/**
 * Counts the audio in the file's container. Decodes an unsupported container if this machine has a decoder.
 * @throws ServiceError `audio_unreadable`; `service_unavailable` when it cannot be decoded now
 */
export async function measureAudio(
  { decoder }: MeasureDeps,
  bytes: Buffer,
  caller: DecodingCaller,
): Promise<MeasuredAudio> {
  const detected = detectAudio(bytes);
  if (!detected) throw unreadable('Unknown audio format');
  const { format, start } = detected;
  const counted = count(format, bytes.subarray(start));
  const seconds = counted ?? (await decoder.measure(bytes, caller));
  const millis = Math.round((seconds ?? 0) * MILLIS);
  if (!Number.isSafeInteger(millis) || millis <= 0) throw unreadable(`No sound found in this ${format} file`);
  return { format, seconds: millis / MILLIS };
}

/** Null for what is not counted here, and for a file of which only a part could be counted. */
function count(format: AudioFormatName, bytes: Buffer): number | null {
  try {
    return MEASURES[format]?.(bytes) ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function unreadable(why: string): ServiceError {
  const message = `file: ${why}. Send a complete mp3, wav, flac, ogg, m4a, webm or aac file.`;
  return new ServiceError('audio_unreadable', message, { param: 'file' });
}
