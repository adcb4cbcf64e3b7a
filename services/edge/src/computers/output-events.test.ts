import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputEvents } from './output-events.ts';

function eventsOf(pieces: readonly Uint8Array[]) {
  const output = new OutputEvents();
  const events = [...pieces.map((piece) => output.push(Buffer.from(piece))), output.end()];
  return events.filter((event) => event !== null);
}

const bytesOf = (events: ReturnType<typeof eventsOf>) =>
  Buffer.concat(events.map(({ data, encoding }) => Buffer.from(data, encoding)));

test('the events contain all bytes in order, wherever the output is split', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 12 })), (pieces) => {
      expect(bytesOf(eventsOf(pieces)).equals(Buffer.concat(pieces))).toBe(true);
    }),
  );
});

test('text stays text wherever it is split, and no event has a broken character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 5 }), (text, pieceBytes) => {
      const bytes = Buffer.from(text);
      const pieces = [];
      for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
      const events = eventsOf(pieces);
      expect(events.every(({ encoding }) => encoding === 'utf-8')).toBe(true);
      expect(events.map(({ data }) => data).join('')).toBe(bytes.toString());
    }),
  );
});

test('output that is not UTF-8 is base64, and following text is text again', () => {
  const events = eventsOf([Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('text')]);
  expect(events).toEqual([
    { type: 'output', data: '//4A', encoding: 'base64' },
    { type: 'output', data: 'text', encoding: 'utf-8' },
  ]);
});

test('an incomplete character at the end of the output is sent in the last event', () => {
  expect(eventsOf([Buffer.from([0x61, 0xe2, 0x82])])).toEqual([
    { type: 'output', data: 'a', encoding: 'utf-8' },
    { type: 'output', data: '4oI=', encoding: 'base64' },
  ]);
});
