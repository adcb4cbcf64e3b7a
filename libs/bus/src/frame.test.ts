import { describe, expect, test } from 'vitest';
import { decodeFrame, encodeFrame, FRAME } from './frame.ts';

describe('a frame', () => {
  test('is decoded unchanged, its meta as UTF-8 and its data byte for byte', () => {
    const data = Buffer.from([0, 255, 13, 10, 0]);
    const frame = decodeFrame(encodeFrame(FRAME.data, 4_000_000_000, '{"name":"ü\\r\\n"}', data));
    expect(frame).toEqual({ kind: FRAME.data, seq: 4_000_000_000, meta: '{"name":"ü\\r\\n"}', data });
  });

  test('is not recognized in the payload of a foreign program', () => {
    expect(decodeFrame(Buffer.from('hello'))).toBeNull();
    expect(decodeFrame(Buffer.from('hello, this is not a frame'))).toBeNull();
    expect(decodeFrame(new Uint8Array(0))).toBeNull();
  });
});
