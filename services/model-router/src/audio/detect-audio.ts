// Detects the format of an audio file by its first bytes; file name and media type are ignored.
import type { AudioFormatName } from '@switchyard/contracts';

const TAG_HEADER_BYTES = 10;

interface DetectedAudio {
  format: AudioFormatName;
  /** Start of the audio, behind any tags. */
  start: number;
}

/** Null for an unknown format. */
export function detectAudio(bytes: Buffer): DetectedAudio | null {
  const start = audioStart(bytes);
  const text = (from: number, to: number) => bytes.toString('latin1', start + from, start + to);
  const first = text(0, 4);
  const kind = text(8, 12);
  const found = (format: AudioFormatName): DetectedAudio => ({ format, start });
  if ((first === 'RIFF' || first === 'RF64') && kind === 'WAVE') return found('wav');
  if (first === 'fLaC') return found('flac');
  if (first === 'OggS') return found('ogg');
  if (first === '\x1a\x45\xdf\xa3') return found('webm');
  if (['ftyp', 'moov', 'mdat', 'styp', 'wide'].includes(text(4, 8))) return found('mp4');
  if (first === 'FORM' && kind.startsWith('AIF')) return found('aiff');
  if (text(0, 5) === '#!AMR') return found('amr');
  if (first === 'caff') return found('caf');
  if (first === '.snd') return found('au');
  const [sync = 0, next = 0] = bytes.subarray(start, start + 2);
  if (sync === 0xff && (next & 0xf6) === 0xf0) return found('aac');
  if (sync === 0xff && (next & 0xe0) === 0xe0 && (next & 0x06) !== 0) return found('mp3');
  return start > 0 || text(0, 3) === 'ID3' ? found('mp3') : null; // a tag followed by padding before the first frame
}

/** Position behind consecutive ID3v2 tags, whose sizes are encoded in seven bits per byte. */
function audioStart(bytes: Buffer): number {
  let at = 0;
  while (bytes.toString('latin1', at, at + 3) === 'ID3' && at + TAG_HEADER_BYTES <= bytes.length) {
    const size = [6, 7, 8, 9].reduce((sum, place) => sum * 128 + ((bytes[at + place] as number) & 0x7f), 0);
    const footer = ((bytes[at + 5] as number) & 0x10) === 0 ? 0 : TAG_HEADER_BYTES;
    at += TAG_HEADER_BYTES + size + footer;
  }
  return Math.min(at, bytes.length);
}
