// FLAC: counts frames by their headers, which carry a checksum. A header with an unexpected number counts only if the
// previous frame ends with a valid checksum. So neither the sample count in the file header nor forged frame numbers
// can make the file look shorter.
import { Samples } from './samples.ts';

interface FrameHead {
  blockSamples: number;
  /** Null: use the rate of the stream header. */
  rateHz: number | null;
  /** Number of the frame, or of its first sample if block sizes vary. */
  number: number;
  isVariable: boolean;
}

const MARKER_BYTES = 4;
/** Size of the checksum at the end of a frame. */
const CRC_BYTES = 2;
const METADATA_HEADER_BYTES = 4;
const STREAMINFO_RATE_AT = 10;
const RATES_HZ = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/** Duration in seconds; null when there are no frames. */
export function measureFlac(bytes: Buffer): number | null {
  let rateHz = 0;
  let at = MARKER_BYTES;
  for (let isLast = false; !isLast; ) {
    if (at + METADATA_HEADER_BYTES > bytes.length) return null;
    isLast = (bytes[at] as number) >= 0x80;
    const type = (bytes[at] as number) & 0x7f;
    const size = bytes.readUIntBE(at + 1, 3);
    const start = at + METADATA_HEADER_BYTES;
    if (type === 0 && start + STREAMINFO_RATE_AT + 3 <= bytes.length)
      rateHz = bytes.readUIntBE(start + STREAMINFO_RATE_AT, 3) >> 4;
    at = start + size;
  }
  return rateHz === 0 ? null : measureFrames(bytes, at, rateHz);
}

function measureFrames(bytes: Buffer, from: number, streamRateHz: number): number | null {
  const counted = new Samples();
  let frame: FoundFrame | null = null;
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const head = readFlacFrameHead(bytes, at);
    if (!head || (frame && !follows(bytes, frame, head, at))) continue;
    counted.add(head.blockSamples, head.rateHz ?? streamRateHz);
    frame = { head, crc: 0, crcUpTo: at };
  }
  return counted.packets === 0 ? null : counted.seconds;
}

interface FoundFrame {
  head: FrameHead;
  /** Running checksum of the frame, so that many false headers do not each rescan the whole frame. */
  crc: number;
  crcUpTo: number;
}

function follows(bytes: Buffer, before: FoundFrame, head: FrameHead, at: number): boolean {
  const step = head.isVariable ? before.head.blockSamples : 1;
  if (head.number === before.head.number + step) return true;
  const end = at - CRC_BYTES;
  if (end < before.crcUpTo) return false;
  before.crc = crc16(bytes, before.crcUpTo, end, before.crc);
  before.crcUpTo = end;
  return before.crc === bytes.readUInt16BE(end);
}

/** Reads the frame header at `start`; null when there is none. */
export function readFlacFrameHead(bytes: Buffer, start: number): FrameHead | null {
  if (start + 6 > bytes.length || bytes[start] !== 0xff || ((bytes[start + 1] as number) & 0xfe) !== 0xf8)
    return null;
  const isVariable = ((bytes[start + 1] as number) & 1) === 1;
  const sizeCode = (bytes[start + 2] as number) >> 4;
  const rateCode = (bytes[start + 2] as number) & 15;
  const number = readUtf8Number(bytes, start + 4);
  if (sizeCode === 0 || rateCode === 15 || number === null) return null;
  let at = start + 4 + number.bytes;
  const sizeBytes = sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0;
  const rateBytes = rateCode === 12 ? 1 : rateCode === 13 || rateCode === 14 ? 2 : 0;
  if (at + sizeBytes + rateBytes >= bytes.length) return null;
  const blockSamples = sizeBytes > 0 ? bytes.readUIntBE(at, sizeBytes) + 1 : blockOf(sizeCode);
  at += sizeBytes;
  const told = rateBytes > 0 ? bytes.readUIntBE(at, rateBytes) : 0;
  at += rateBytes;
  if (crc8(bytes, start, at) !== bytes[at]) return null;
  const rateHz =
    rateBytes === 0 ? (RATES_HZ[rateCode] ?? 0) : told * (rateCode === 12 ? 1_000 : rateCode === 14 ? 10 : 1);
  return { blockSamples, rateHz: rateHz === 0 ? null : rateHz, number: number.value, isVariable };
}

function blockOf(code: number): number {
  if (code === 1) return 192;
  return code <= 5 ? 576 << (code - 2) : 256 << (code - 8);
}

/** Frame numbers use the UTF-8 encoding, extended to seven bytes. */
function readUtf8Number(bytes: Buffer, at: number): { value: number; bytes: number } | null {
  const first = bytes[at] ?? 0xff;
  if (first < 0x80) return { value: first, bytes: 1 };
  const length = Math.clz32(~(first << 24));
  if (length < 2 || length > 7 || at + length > bytes.length) return null;
  let value = first & ((1 << (7 - length)) - 1);
  for (let index = 1; index < length; index++) {
    const byte = bytes[at + index] as number;
    if ((byte & 0xc0) !== 0x80) return null;
    value = value * 64 + (byte & 0x3f);
  }
  return { value, bytes: length };
}

const CRC8 = crcTable(8, 0x07);
const CRC16 = crcTable(16, 0x8005);

function crcTable(bits: 8 | 16, polynomial: number): Uint16Array {
  const top = 1 << (bits - 1);
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc & top ? (crc << 1) ^ polynomial : crc << 1;
    return crc & ((1 << bits) - 1);
  });
}

function crc8(bytes: Buffer, from: number, to: number): number {
  let crc = 0;
  for (let at = from; at < to; at++) crc = CRC8[crc ^ (bytes[at] as number)] as number;
  return crc;
}

function crc16(bytes: Buffer, from: number, to: number, begun: number): number {
  let crc = begun;
  for (let at = from; at < to; at++)
    crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ (bytes[at] as number)] as number);
  return crc;
}
