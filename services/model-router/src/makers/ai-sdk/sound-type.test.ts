import { describe, expect, it } from 'vitest';
import { soundType } from './sound-type.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );

describe('without a word of the maker', () => {
  it.each([
    ['audio/wav', bytes('RIFF', [0, 0, 0, 0], 'WAVEfmt ')],
    ['audio/ogg', bytes('OggS', [0, 2])],
    ['audio/flac', bytes('fLaC', [0])],
    ['audio/mpeg', bytes('ID3', [4, 0])],
    ['audio/mpeg', bytes([0xff, 0xfb, 0x90, 0x64])],
    ['audio/aac', bytes([0xff, 0xf1, 0x50, 0x80])],
    ['audio/mp4', bytes([0, 0, 0, 0x20], 'ftypM4A ')],
  ])('%s is told by how it begins, whatever was asked for', (type, head) => {
    expect(soundType(head, null, 'opus')).toBe(type);
    expect(soundType(head, 'application/octet-stream', 'opus')).toBe(type);
  });

  it('bytes without a container are what was asked for', () => {
    expect(soundType(bytes([0, 1, 2, 3]), null, 'pcm')).toBe('audio/pcm');
    expect(soundType(bytes([]), null, 'mp3')).toBe('audio/mpeg');
  });
});

it('what the maker says of its sound goes before', () => {
  expect(soundType(bytes('OggS'), 'audio/ogg; codecs=opus', 'mp3')).toBe('audio/ogg; codecs=opus');
});
