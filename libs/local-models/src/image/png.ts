// Pixels -> PNG (RGB, 8 bits): only what the format requires. Compression runs off the event loop.
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { Turns } from '../turns.ts';
import type { Canvas } from './canvas.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS = 8;
const COLOUR_TYPE_RGB = 2;
/** Each row is written as its difference from the one above, which suits gradients and flat shapes. */
const FILTER_UP = 2;

const deflated = promisify<Buffer, Buffer>(deflate);

export async function encodePng({ width, height, pixels }: Canvas, turns: Turns): Promise<Buffer> {
  const stride = 3 * width;
  const rows = Buffer.alloc((stride + 1) * height);
  for (let y = 0; y < height; y += 1) {
    const to = y * (stride + 1);
    rows[to] = FILTER_UP;
    for (let x = 0; x < stride; x += 1) {
      const above = y === 0 ? 0 : (pixels[(y - 1) * stride + x] ?? 0);
      rows[to + 1 + x] = (pixels[y * stride + x] ?? 0) - above;
    }
    if (turns.over) await turns.next();
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(BITS, 8);
  header.writeUInt8(COLOUR_TYPE_RGB, 9);
  const data = await deflated(rows);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(typed.length + 8);
  framed.writeUInt32BE(data.length, 0);
  typed.copy(framed, 4);
  framed.writeUInt32BE(crc32(typed), typed.length + 4);
  return framed;
}
