import { expect, test } from 'vitest';
import { decodeEnd, encodeFrame, type Frame, frameDecoder } from './init-frames.ts';

test('frames come out whole, however the bytes were cut', () => {
  const frames = [
    encodeFrame('M', 1, Buffer.from('abc')),
    encodeFrame('L', 2),
    encodeFrame('M', 3, Buffer.alloc(70_000, 7)),
  ];
  const stream = Buffer.concat(frames);
  for (const pieceBytes of [1, 2, 7, 9, 10, 1000, stream.length]) {
    const seen: [string, number, number][] = [];
    const decode = frameDecoder(({ type, channel, payload }: Frame) =>
      seen.push([type, channel, payload.length]),
    );
    for (let at = 0; at < stream.length; at += pieceBytes) decode(stream.subarray(at, at + pieceBytes));
    expect(seen).toEqual([
      ['M', 1, 3],
      ['L', 2, 0],
      ['M', 3, 70_000],
    ]);
  }
});

test('a length beyond the limit is refused at once', () => {
  const head = encodeFrame('M', 1);
  head.writeUInt32LE(0xffff_ffff, 5);
  expect(() => frameDecoder(() => {})(head)).toThrow(RangeError);
});

test('an end is read as the kernel wrote it', () => {
  const end = (status: number, flags: number) => {
    const payload = Buffer.alloc(24);
    payload.writeUInt32LE(status, 0);
    payload.writeUInt32LE(flags, 4);
    payload.writeBigUInt64LE(5_000_000_000n, 8);
    payload.writeBigUInt64LE(1_500n, 16);
    return decodeEnd(payload);
  };
  expect(end(3 << 8, 0)).toMatchObject({
    exitCode: 3,
    outputBytes: 5_000_000_000,
    durationMs: 1.5,
  });
  expect(end(9, 1)).toMatchObject({
    exitCode: 137,
    timedOut: true,
    truncated: false,
    cancelled: false,
  });
  expect(end(11 | 0x80, 6)).toMatchObject({ exitCode: 139, truncated: true, cancelled: true });
});
