import { AUDIO_BYTES_MAX, TRANSCRIPTION_FIELDS_BYTES_MAX } from '@switchyard/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audioBuffer } from './audio-buffer.ts';
import { AudioMemberScanner } from './audio-member-scanner.ts';
import { Base64Decoder } from './base64-decoder.ts';

/** Reads a body in pieces of this many bytes. */
function read(body: string, pieceBytes = 7) {
  const bytes = Buffer.from(body);
  const audio = audioBuffer(bytes.length);
  const scanner = new AudioMemberScanner(new Base64Decoder(audio));
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes));
  return { fields: scanner.end(), audio: audio.bytes.toString('latin1') };
}

const HELLO = Buffer.from('hello, audio').toString('base64');

describe('the scanner of the member audio', () => {
  it('returns the same fields and the same bytes, wherever the body is split', () => {
    const members = fc.dictionary(
      fc.string().filter((key) => key !== 'audio' && key !== '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        members,
        members,
        fc.uint8Array({ maxLength: 200 }),
        fc.integer({ min: 1, max: 50 }),
        (a, b, bytes, cut) => {
          const body = JSON.stringify({ ...a, audio: Buffer.from(bytes).toString('base64'), ...b });
          const got = read(body, cut);
          expect(got.fields).toEqual(JSON.parse(JSON.stringify({ ...a, ...b })));
          expect(got.audio).toBe(Buffer.from(bytes).toString('latin1'));
        },
      ),
    );
  });

  it.each([
    ['standard', Buffer.from([251, 255, 254]).toString('base64')],
    ['url-safe', Buffer.from([251, 255, 254]).toString('base64url')],
    ['with escapes, as PHP and .NET write them', '\\u002b\\/\\/+'],
    ['with line breaks', '+/\\r\\n/+\\n'],
    ['a data: URL', 'data:audio/wav;base64,+//+'],
  ])('reads base64 %s', (_, text) => {
    for (const cut of [1, 2, 3, 100])
      expect(read(`{"audio":"${text}"}`, cut).audio).toBe(Buffer.from([251, 255, 254]).toString('latin1'));
  });

  it('finds the member only at the top level, with or without escapes in its name', () => {
    const body = `{"a":{"audio":"no!"},"list":["audio",{"audio":1}],"\\u0061udio" : "${HELLO}","text":"audio\\":\\"x"}`;
    expect(read(body)).toEqual({
      audio: 'hello, audio',
      fields: { a: { audio: 'no!' }, list: ['audio', { audio: 1 }], text: 'audio":"x' },
    });
  });

  it.each([
    ['{"model":"m"}', 'invalid_request', 'required'],
    ['{"audio":null}', 'invalid_request', 'required'],
    ['{"audio":[1]}', 'invalid_request', 'string'],
    ['{"audio":"a*bc"}', 'invalid_request', 'base64'],
    ['{"audio":"abc=d"}', 'invalid_request', 'base64'],
    ['{"audio":"abcde"}', 'invalid_request', 'base64'],
    ['{"audio":"ab==="}', 'invalid_request', 'base64'],
    ['{"audio":"ab==ab=="}', 'invalid_request', 'base64'],
    ['{"audio":"data:audio/wav,abcd"}', 'invalid_request', 'base64'],
    ['{"audio":"abcd","audio":"abcd"}', 'invalid_request', 'twice'],
    ['{"audio":"abcd', 'invalid_json', 'JSON'],
    ['{"audio":"ab\\xcd"}', 'invalid_json', 'JSON'],
    ['{"audio":"abcd"', 'invalid_json', 'JSON'],
    ['{"audio":"abcd"}}', 'invalid_json', 'JSON'],
    ['["audio","abcd"]', 'invalid_request', 'object'],
    ['', 'invalid_json', 'JSON'],
  ])('refuses %s', (body, code, message) => {
    const attempt = expect(() => read(body));
    attempt.toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it('accepts fields up to their limit and refuses one byte more before it has all of them', () => {
    const around = '{"audio":"","p":""}'.length;
    const body = (bytes: number) => `{"audio":"abcd","p":"${'x'.repeat(bytes - around)}"}`;
    expect(read(body(TRANSCRIPTION_FIELDS_BYTES_MAX), 65_536).audio).toHaveLength(3);
    expect(() => read(body(TRANSCRIPTION_FIELDS_BYTES_MAX + 1), 65_536)).toThrow(/besides the audio/);
  });
});

describe('the audio buffer', () => {
  it('accepts exactly the limit and refuses one byte more', () => {
    const audio = audioBuffer(null);
    audio.append(Buffer.alloc(AUDIO_BYTES_MAX));
    expect(() => audio.append(Buffer.alloc(1))).toThrow(expect.objectContaining({ code: 'body_too_large' }));
    expect(audio.bytes.length).toBe(AUDIO_BYTES_MAX);
  });
});
