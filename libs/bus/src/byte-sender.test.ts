import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteSender } from './byte-sender.ts';
import { decodeFrame, FRAME, type Frame } from './frame.ts';
import { FRAME_BYTES_MAX } from './limits.ts';

const BYTES_MAX = 3 * FRAME_BYTES_MAX;
const bytes = fc.integer({ min: 0, max: BYTES_MAX });
const actions = fc.array(
  fc.oneof(
    fc.record({ write: bytes }),
    fc.record({ grant: fc.integer({ min: 1, max: BYTES_MAX }) }),
    fc.record({ end: fc.option(bytes) }),
  ),
  { maxLength: 20 },
);

/** Bytes that differ from their neighbours and from those of other calls. */
function numbered(from: number, count: number): Buffer {
  const words = Uint32Array.from({ length: Math.ceil(count / 4) }, (_, at) => from + at);
  return Buffer.from(words.buffer).subarray(0, count);
}

test('sends all bytes in order and one end, within the credit, whatever is written and granted when', () => {
  const run = (credit: number, taken: ({ write: number } | { grant: number } | { end: number | null })[]) => {
    const frames: Frame[] = [];
    let sent = 0;
    const sender = new ByteSender(credit, (payload) => {
      const frame = decodeFrame(payload) as Frame;
      frames.push(frame);
      sent += frame.data.length;
    });
    const written: Buffer[] = [];
    let granted = credit;
    let isEnded = false;
    const write = (count: number) => {
      const piece = numbered(written.length * BYTES_MAX, count);
      if (!isEnded) written.push(piece);
      return piece;
    };
    const grant = (count: number) => {
      granted += count;
      sender.grant(count);
    };
    for (const action of taken) {
      if ('write' in action) sender.write(write(action.write));
      else if ('grant' in action) grant(action.grant);
      else {
        sender.end('{}', action.end === null ? undefined : write(action.end));
        isEnded = true;
      }
      expect(sent).toBeLessThan(granted + FRAME_BYTES_MAX);
    }
    sender.end('{}');
    for (let left = 0; left < 2; left += 1) grant(BYTES_MAX * taken.length);
    expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_, at) => at));
    expect(frames.map(({ kind }) => kind)).toEqual([...frames.slice(1).map(() => FRAME.data), FRAME.end]);
    expect(Buffer.concat(frames.map(({ data }) => data)).equals(Buffer.concat(written))).toBe(true);
  };
  fc.assert(fc.property(fc.integer({ min: 1, max: BYTES_MAX }), actions, run));
});
