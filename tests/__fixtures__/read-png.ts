// Decodes a PNG file itself, because a test of a picture must not trust the program that drew it.
import { inflateSync } from 'node:zlib';

export type Colour = readonly [red: number, green: number, blue: number];

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Throws outside of the picture. */
  at(x: number, y: number): Colour;
}

const SIGNATURE = '89504e470d0a1a0a';
/** Bytes of a pixel by colour type: RGB and RGBA, which is what screenshots are. */
const PIXEL_BYTES: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

/** 8 bits per channel, not interlaced; anything else throws. */
export function readPng(file: Buffer): Picture {
  if (file.toString('hex', 0, 8) !== SIGNATURE) throw new Error('not a PNG');
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const [bits, type, , , interlaced] = file.subarray(24, 29);
  const pixelBytes = PIXEL_BYTES[type ?? -1];
  if (bits !== 8 || interlaced !== 0 || pixelBytes === undefined)
    throw new Error(`unsupported PNG: ${bits} bits, colour type ${type}, interlacing ${interlaced}`);
  const pixels = unfilter(inflateSync(dataOf(file)), width * pixelBytes, height, pixelBytes);
  return {
    width,
    height,
    at(x, y) {
      if (x < 0 || y < 0 || x >= width || y >= height) throw new Error(`${x}, ${y} is outside the picture`);
      const from = (y * width + x) * pixelBytes;
      return [pixels.readUInt8(from), pixels.readUInt8(from + 1), pixels.readUInt8(from + 2)];
    },
  };
}

/** The compressed pixels: all IDAT chunks in a row. */
function dataOf(file: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  return Buffer.concat(parts);
}

/** Each row begins with the filter that made its bytes differences from those to the left and above. */
function unfilter(rows: Buffer, stride: number, height: number, pixelBytes: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  const before = (y: number, x: number) => (y < 0 || x < 0 ? 0 : (pixels[y * stride + x] ?? 0));
  for (let y = 0; y < height; y += 1) {
    const filter = rows[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const [left, above, corner] = [
        before(y, x - pixelBytes),
        before(y - 1, x),
        before(y - 1, x - pixelBytes),
      ];
      pixels[y * stride + x] = (rows[y * (stride + 1) + 1 + x] ?? 0) + predicted(filter, left, above, corner);
    }
  }
  return pixels;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4:
      return paeth(left, above, corner);
    default:
      throw new Error(`a PNG has no filter ${filter}`);
  }
}

/** The neighbour that is nearest to left + above - corner. */
function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((one) => Math.abs(guess - one)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
