// The true length of an audio file, measured from the file itself: it is what a transcription is charged by, so nothing
// that its sender wrote into a head is believed beyond a few milliseconds of padding.
import { type AudioFormatName, ServiceError } from '@switchyard/contracts';
import { measureAdts } from './adts.ts';
import { detectAudio } from './detect-audio.ts';
import { measureFlac } from './flac.ts';
import { measureByDecoding } from './measure-by-decoding.ts';
import { measureMp4 } from './mp4.ts';
import { measureMpegAudio } from './mpeg-audio.ts';
import { measureOgg } from './ogg.ts';
import { measureWav } from './wav.ts';
import { measureWebm } from './webm.ts';

export interface MeasuredAudio {
  format: AudioFormatName;
  /** To the millisecond, and never 0. */
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

/**
 * Counts what the file's container holds; where that is not known here, decodes it, if there is a decoder on this machine.
 * @throws ServiceError `audio_unreadable`
 */
export async function measureAudio(bytes: Buffer, signal: AbortSignal): Promise<MeasuredAudio> {
  const detected = detectAudio(bytes);
  if (!detected) throw unreadable('it is no audio file of a kind that is known');
  const { format, start } = detected;
  const counted = MEASURES[format]?.(bytes.subarray(start)) ?? null;
  const seconds = counted ?? (await measureByDecoding(bytes, signal));
  const millis = Math.round((seconds ?? 0) * MILLIS);
  if (!Number.isSafeInteger(millis) || millis <= 0)
    throw unreadable(`no sound was found in the ${format} file`);
  return { format, seconds: millis / MILLIS };
}

function unreadable(why: string): ServiceError {
  const message = `file: ${why}, so its length cannot be measured`;
  return new ServiceError('audio_unreadable', message, { param: 'file' });
}
