// MurmurHash3 (x86, 32 bit; Austin Appleby, public domain) over a string's UTF-8 bytes: where a feature lands in the
// vector, and with which sign.

const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

/** An unsigned 32-bit hash. */
export function murmur3(bytes: Uint8Array, seed: number): number {
  const blocksEnd = bytes.length - (bytes.length % 4);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let hash = seed | 0;
  for (let at = 0; at < blocksEnd; at += 4) {
    hash ^= mix(view.getInt32(at, true));
    hash = (rotateLeft(hash, 13) * 5 + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let at = bytes.length - 1; at >= blocksEnd; at -= 1) tail = (tail << 8) | (bytes[at] ?? 0);
  if (blocksEnd < bytes.length) hash ^= mix(tail);
  return finish(hash ^ bytes.length);
}

function mix(block: number): number {
  return Math.imul(rotateLeft(Math.imul(block, C1), 15), C2);
}

function finish(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
