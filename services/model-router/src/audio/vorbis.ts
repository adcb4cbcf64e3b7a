// Determines the length of a Vorbis packet: its mode selects one of two block sizes. The modes are at the end of the
// setup header behind tables of variable length, so they are read backwards from its end.

export interface VorbisModes {
  rateHz: number;
  /** Samples per block, by mode. */
  blocks: number[];
}

const MODES_MAX = 64;
const MODE_BITS = 41;

/** @returns null when these are not Vorbis headers. */
export function readVorbisModes(identification: Buffer, setup: Buffer): VorbisModes | null {
  if (!isHeader(identification, 1) || !isHeader(setup, 5) || identification.length < 30) return null;
  const sizes = identification[28] as number;
  const [short, long] = [1 << (sizes & 15), 1 << (sizes >> 4)];
  const flags = readBlockFlags(setup);
  return (
    flags && {
      rateHz: identification.readUInt32LE(12),
      blocks: flags.map((isLong) => (isLong ? long : short)),
    }
  );
}

/** Samples of an audio packet's block; null for other packets. */
export function vorbisBlock({ blocks }: VorbisModes, packet: Buffer): number | null {
  const first = packet[0];
  if (first === undefined || (first & 1) === 1) return null;
  const modeBits = 32 - Math.clz32(blocks.length - 1);
  return blocks[(first >> 1) & ((1 << modeBits) - 1)] ?? null;
}

function isHeader(packet: Buffer, type: number): boolean {
  return packet[0] === type && packet.toString('latin1', 1, 7) === 'vorbis';
}

/**
 * Reads backwards: a framing bit of 1, then for each mode its mapping (8 bits), transform (16, zero), window (16, zero)
 * and block flag (1), and before them the number of modes minus one (6 bits).
 */
function readBlockFlags(setup: Buffer): boolean[] | null {
  const bits = new BackwardBits(setup);
  while (bits.left > 0 && bits.read(1) === 0);
  const flags: boolean[] = [];
  let found: boolean[] | null = null;
  while (bits.left >= MODE_BITS + 6 && flags.length < MODES_MAX) {
    const mapping = bits.read(8);
    if (mapping > 63 || bits.read(16) !== 0 || bits.read(16) !== 0) break;
    flags.unshift(bits.read(1) === 1);
    if (bits.peek(6) + 1 === flags.length) found = [...flags];
  }
  return found;
}

/** Vorbis packs bits from the lowest bit of a byte; read from the end, the highest comes first. */
class BackwardBits {
  readonly #bytes: Buffer;
  left: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.left = bytes.length * 8;
  }

  /** The original value; its bits are read highest first. */
  read(count: number): number {
    const value = this.peek(count);
    this.left -= count;
    return value;
  }

  peek(count: number): number {
    let value = 0;
    for (let bit = this.left - 1; bit >= this.left - count; bit--)
      value = value * 2 + (bit < 0 ? 0 : ((this.#bytes[bit >> 3] as number) >> (bit & 7)) & 1);
    return value;
  }
}
