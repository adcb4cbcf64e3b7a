// AAC in ADTS frames: each frame states its length and its number of blocks of 1,024 samples.
import { Samples } from './samples.ts';

export const AAC_RATES_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
export const AAC_BLOCK_SAMPLES = 1_024;
const HEADER_BYTES = 7;

interface Frame {
  bytes: number;
  samples: number;
  rateHz: number;
}

/** Duration in seconds; null when there are no frames. */
export function measureAdts(bytes: Buffer): number | null {
  const counted = new Samples();
  for (let at = findFrame(bytes, 0); at !== null; ) {
    const frame = readFrame(bytes, at) as Frame;
    if (at + frame.bytes > bytes.length && counted.packets > 0) break;
    counted.add(frame.samples, frame.rateHz);
    const next = at + frame.bytes;
    at = readFrame(bytes, next) ? next : findFrame(bytes, next);
  }
  return counted.packets === 0 ? null : counted.seconds;
}

function findFrame(bytes: Buffer, from: number): number | null {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const frame = readFrame(bytes, at);
    if (!frame) continue;
    const next = at + frame.bytes;
    if (next + HEADER_BYTES > bytes.length || readFrame(bytes, next)?.rateHz === frame.rateHz) return at;
  }
  return null;
}

function readFrame(bytes: Buffer, at: number): Frame | null {
  if (at + HEADER_BYTES > bytes.length || bytes[at] !== 0xff || ((bytes[at + 1] as number) & 0xf6) !== 0xf0)
    return null;
  const rateHz = AAC_RATES_HZ[((bytes[at + 2] as number) >> 2) & 15];
  const length = (bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff;
  if (rateHz === undefined || length < HEADER_BYTES) return null;
  const blocks = ((bytes[at + 6] as number) & 3) + 1;
  return { bytes: length, samples: blocks * AAC_BLOCK_SAMPLES, rateHz };
}
