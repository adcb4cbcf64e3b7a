import { expect, test } from 'vitest';
import { encodeTerminalKeys, encodeTerminalSize, TerminalInputDecoder } from './terminal-input.ts';

test('keys and sizes come out in their order, whole, wherever the stream was cut', () => {
  const paste = Buffer.alloc(40_000, 'päste');
  const sent = Buffer.concat([
    ...encodeTerminalKeys(Buffer.from('ls\r')),
    encodeTerminalSize({ columns: 132, rows: 50 }),
    ...encodeTerminalKeys(paste),
  ]);
  for (const cut of [1, 4, 5, 7, 4096, sent.length]) {
    const decoder = new TerminalInputDecoder();
    const came = [];
    for (let at = 0; at < sent.length; at += cut) came.push(...decoder.push(sent.subarray(at, at + cut)));
    expect(came.slice(0, 2)).toEqual([{ keys: Buffer.from('ls\r') }, { size: { columns: 132, rows: 50 } }]);
    const keys = came.slice(2).map((input) => ('keys' in input ? input.keys : Buffer.from('a size')));
    expect(Buffer.concat(keys).equals(paste)).toBe(true);
  }
});

test.each([
  ['of an unknown kind', Buffer.from([9, 0, 0, 0, 0])],
  ['longer than any piece', Buffer.from([1, 255, 255, 255, 255])],
  ['a size that is none', Buffer.from([2, 1, 0, 0, 0, 7])],
])('what no edge would send is refused: %s', (_what, bytes) => {
  expect(() => [...new TerminalInputDecoder().push(bytes)]).toThrow('Invalid terminal input');
});
