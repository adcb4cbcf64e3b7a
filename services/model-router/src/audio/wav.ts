// WAV: bytes of audio divided by bytes per second. The byte count in the header is trusted only if the chunks of the
// file confirm it up to the last byte.

const CHUNK_HEADER_BYTES = 8;
const FORMAT = { pcm: 1, float: 3, aLaw: 6, muLaw: 7, extensible: 0xfffe } as const;

interface WavFormat {
  /** Bytes per second of all channels together. */
  bytesPerSecond: number;
}

/**
 * Duration in seconds; null when the file is not WAV or its audio is compressed.
 * @throws RangeError for a second format or more audio: decoders differ in which one they use
 */
export function measureWav(bytes: Buffer): number | null {
  let format: WavFormat | null = null;
  for (let at = 12; at + CHUNK_HEADER_BYTES <= bytes.length; ) {
    const id = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const start = at + CHUNK_HEADER_BYTES;
    if (id === 'fmt ') {
      if (format) throw new RangeError('two formats');
      format = readFormat(bytes.subarray(start, start + size));
      if (!format) return null;
    }
    if (id === 'data') return format && soundBytes(bytes, start, size) / format.bytesPerSecond;
    at = start + size + (size % 2);
  }
  return null;
}

function readFormat(chunk: Buffer): WavFormat | null {
  if (chunk.length < 16) return null;
  const tag = chunk.readUInt16LE(0);
  const code = tag === FORMAT.extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : tag;
  const isPlain =
    code === FORMAT.pcm || code === FORMAT.float || code === FORMAT.aLaw || code === FORMAT.muLaw;
  const channels = chunk.readUInt16LE(2);
  const rateHz = chunk.readUInt32LE(4);
  const bytesPerSample = Math.ceil(chunk.readUInt16LE(14) / 8);
  if (!isPlain || channels === 0 || rateHz === 0 || bytesPerSample === 0) return null;
  return { bytesPerSecond: channels * bytesPerSample * rateHz };
}

/** The stated size if whole chunks follow it to the end of the file; otherwise all bytes (streams state 0 or 4 GiB). */
function soundBytes(bytes: Buffer, start: number, said: number): number {
  const there = bytes.length - start;
  if (said > there) return there;
  let at = start + said + (said % 2);
  while (at + CHUNK_HEADER_BYTES <= bytes.length) {
    const id = bytes.toString('latin1', at, at + 4);
    if (!/^[\x20-\x7e]{4}$/.test(id)) break;
    if (id === 'data' || id === 'fmt ') throw new RangeError('more audio follows');
    const size = bytes.readUInt32LE(at + 4);
    at += CHUNK_HEADER_BYTES + size + (size % 2);
  }
  const fits = at >= bytes.length && at <= bytes.length + 1;
  return fits && said > 0 ? said : there;
}
