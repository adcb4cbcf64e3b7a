// Determines the Content-Type of audio bytes: by the maker's own type, then by the first bytes, then by the requested
// format.

import { AUDIO_FORMATS } from '@switchyard/contracts';
import { detectAudio } from '../../audio/detect-audio.ts';

/** Bytes that identify a container. */
export const SOUND_HEAD_BYTES = 12;

const ASKED: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  pcm: 'audio/pcm',
};

/** @param asked the caller's `response_format`, used for bytes without a container */
export function soundType(head: Buffer, said: string | null | undefined, asked: string): string {
  if (said && /^(audio\/|application\/ogg)/.test(said)) return said;
  const detected = detectAudio(head);
  return (detected && AUDIO_FORMATS[detected.format].mediaType) ?? ASKED[asked] ?? 'application/octet-stream';
}
