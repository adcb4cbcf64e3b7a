// What kind of sound bytes are, for a Content-Type that is true: by what the maker says, else by how they begin, else by
// what was asked for.

/** Bytes that tell a container. */
export const SOUND_HEAD_BYTES = 12;

const ASKED: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  pcm: 'audio/pcm',
};

/** @param asked the caller's `response_format`: all that is left to go by for bytes without a container. */
export function soundType(head: Buffer, said: string | null | undefined, asked: string): string {
  if (said && /^(audio\/|application\/ogg)/.test(said)) return said;
  return containerOf(head) ?? ASKED[asked] ?? 'application/octet-stream';
}

function containerOf(head: Buffer): string | null {
  const text = head.toString('latin1', 0, SOUND_HEAD_BYTES);
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WAVE') return 'audio/wav';
  if (text.startsWith('OggS')) return 'audio/ogg';
  if (text.startsWith('fLaC')) return 'audio/flac';
  if (text.startsWith('ID3')) return 'audio/mpeg';
  if (text.slice(4, 8) === 'ftyp') return 'audio/mp4';
  if (head.length >= 2 && head[0] === 0xff) {
    const second = head[1] as number;
    if ((second & 0xf6) === 0xf0) return 'audio/aac'; // ADTS: a sync word and layer 0
    if ((second & 0xe0) === 0xe0) return 'audio/mpeg';
  }
  return null;
}
