import { hash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { sealingKey, unsealed } from './answer-seal.ts';
import { ANSWER_BYTES_MAX, BodyKeeper, QUEUE_BYTES_MAX } from './body-keeper.ts';

const key = sealingKey('org_x', 'a key');
const share = { hold: () => true };

/** A store that accepts nothing until the test opens it. */
function store() {
  const taken: Buffer[] = [];
  const open = Promise.withResolvers<void>();
  return {
    taken,
    open: open.resolve,
    async put(id: string, source: AsyncIterable<Uint8Array> | Uint8Array) {
      await open.promise;
      if (source instanceof Uint8Array) throw new Error('an answer is stored as it comes');
      for await (const piece of source) taken.push(Buffer.from(piece));
      const bytes = Buffer.concat(taken);
      return { id, bytes: bytes.length, sha256: hash('sha256', bytes), storedAt: new Date() };
    },
  };
}

async function* each(pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

test('a writer that is faster than the store waits for room, and the whole answer is stored, sealed', async () => {
  const objects = store();
  const room = Promise.withResolvers<void>();
  const keeper = new BodyKeeper({ objects, id: 'an-answer', sealingKey: key, share, onRoom: room.resolve });
  const piece = randomBytes(64 * 1024);
  let pieces = 1;
  while (keeper.write(piece)) pieces++;
  expect(pieces * piece.length).toBe(QUEUE_BYTES_MAX);
  objects.open();
  await room.promise;
  const body = await keeper.end();
  expect(body).toMatchObject({ kind: 'object', id: 'an-answer', bytes: QUEUE_BYTES_MAX });
  expect(Buffer.concat(objects.taken).includes(piece.subarray(0, 32))).toBe(false);
  const opened = Buffer.concat(await Array.fromAsync(unsealed(key, body.seal, each(objects.taken))));
  expect(opened.equals(Buffer.concat(Array(pieces).fill(piece)))).toBe(true);
});

test('a sealed answer is opened only by its own key and org, and only unchanged', async () => {
  const keeper = new BodyKeeper({ objects: store(), id: 'x', sealingKey: key, share, onRoom: () => {} });
  keeper.write(Buffer.from('sy_secret'));
  const body = await keeper.end();
  if (body.kind !== 'inline') throw new Error('a short answer goes into its record');
  const sealed = Buffer.from(body.base64, 'base64');
  const open = async (with_: Buffer, bytes: Buffer) =>
    Buffer.concat(await Array.fromAsync(unsealed(with_, body.seal, each([bytes])))).toString();
  expect(await open(key, sealed)).toBe('sy_secret');
  await expect(open(sealingKey('org_x', 'another key'), sealed)).rejects.toThrow();
  await expect(open(sealingKey('org_y', 'a key'), sealed)).rejects.toThrow();
  sealed[0] = (sealed[0] ?? 0) ^ 1;
  await expect(open(key, sealed)).rejects.toThrow();
});

test('an answer that is too long, or that the store refuses, is dropped without delaying its writer', async () => {
  const refusing = { put: () => Promise.reject(new Error('no room')) };
  const keeper = new BodyKeeper({ objects: refusing, id: 'x', sealingKey: key, share, onRoom: () => {} });
  keeper.write(Buffer.alloc(2 * QUEUE_BYTES_MAX));
  await expect(keeper.end()).rejects.toThrow('no room');
  expect(keeper.write(Buffer.alloc(2 * QUEUE_BYTES_MAX))).toBe(true);

  const objects = store();
  objects.open();
  const long = new BodyKeeper({ objects, id: 'x', sealingKey: key, share, onRoom: () => {} });
  const piece = Buffer.alloc(32 * 1024 * 1024);
  for (let bytes = 0; bytes <= ANSWER_BYTES_MAX; bytes += piece.length) long.write(piece);
  await expect(long.end()).rejects.toThrow('over');
});
