import { describe, expect, it } from 'vitest';
import { soundType } from './sound-type.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );

describe('without a content type from the maker', () => {
  it.each([
    ['audio/wav', bytes('RIFF', [0, 0, 0, 0], 'WAVEfmt ')],
    ['audio/ogg', bytes('OggS', [0, 2])],
    ['audio/flac', bytes('fLaC', [0])],
    ['audio/mpeg', bytes('ID3', [4, 0])],
    ['audio/mpeg', bytes([0xff, 0xfb, 0x90, 0x64])],
    ['audio/aac', bytes([0xff, 0xf1, 0x50, 0x80])],
    ['audio/mp4', bytes([0, 0, 0, 0x20], 'ftypM4A ')],
  ])('%s is detected by its first bytes, whatever format was requested', (type, head) => {
    expect(soundType(head, null, 'opus')).toBe(type);
    expect(soundType(head, 'application/octet-stream', 'opus')).toBe(type);
  });

  it('bytes without a container have the requested type', () => {
    expect(soundType(bytes([0, 1, 2, 3]), null, 'pcm')).toBe('audio/pcm');
    expect(soundType(bytes([]), null, 'mp3')).toBe('audio/mpeg');
  });
});

it('the maker’s content type takes precedence', () => {
  expect(soundType(bytes('OggS'), 'audio/ogg; codecs=opus', 'mp3')).toBe('audio/ogg; codecs=opus');
});
