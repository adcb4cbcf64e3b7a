import { expect, test } from 'vitest';
import { ByteSender } from './byte-sender.ts';
import { FRAME_BYTES_MAX } from './limits.ts';

test('sends one end, with the last bytes, when two grants arrive in one turn', () => {
  const sent: Buffer[] = [];
  const sender = new ByteSender(1, (frame) => sent.push(frame));
  sender.end('{}', Buffer.alloc(2 * FRAME_BYTES_MAX));
  expect(sent).toHaveLength(1);
  sender.grant(FRAME_BYTES_MAX);
  sender.grant(FRAME_BYTES_MAX);
  expect(sent).toHaveLength(2);
  expect(sent[1]?.length).toBeGreaterThan(FRAME_BYTES_MAX);
});
