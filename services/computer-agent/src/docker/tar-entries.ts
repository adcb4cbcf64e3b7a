// Counts the entries of a tar archive as it passes, without trusting the sizes that its headers state.
export const BLOCK_BYTES = 512;
const CHECKSUM = { start: 148, end: 156 } as const;
const SUM_MAX = BLOCK_BYTES * 255;
const [BLANK, ZERO, SEVEN] = [0x20, 0x30, 0x37];

/**
 * Returns a function that takes the archive piece by piece and returns the number of headers in each: the blocks whose
 * checksum is that of a header. A file that is an archive itself counts with its own entries.
 */
export function entryCounter(): (piece: Buffer) => number {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % BLOCK_BYTES);
    let entries = 0;
    for (let at = 0; at < whole; at += BLOCK_BYTES) if (isHeader(bytes, at)) entries += 1;
    rest = Buffer.from(bytes.subarray(whole));
    return entries;
  };
}

/** The checksum is the sum of the bytes of the block, its own taken as blanks; old programs add signed bytes. */
function isHeader(bytes: Buffer, block: number): boolean {
  const stated = checksumOf(bytes, block);
  if (stated === null || stated > SUM_MAX) return false;
  let unsigned = 0;
  let negative = 0;
  for (let at = block; at < block + BLOCK_BYTES; at += 1) {
    const byte = bytes[at]!;
    unsigned += byte;
    negative += byte >> 7;
  }
  // The digits of the checksum are not negative.
  for (let at = block + CHECKSUM.start; at < block + CHECKSUM.end; at += 1) unsigned += BLANK - bytes[at]!;
  return stated === unsigned || stated === unsigned - 256 * negative;
}

/** Octal digits, padded with blanks or NULs; null: something else. */
function checksumOf(bytes: Buffer, block: number): number | null {
  let sum: number | null = null;
  for (let at = block + CHECKSUM.start; at < block + CHECKSUM.end; at += 1) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= SEVEN) sum = (sum ?? 0) * 8 + byte - ZERO;
    else if (byte !== 0 && byte !== BLANK) return null;
  }
  return sum;
}
