// Streamed output: complete at any size, at the consumer's pace, in bounded memory.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Container } from './container.ts';
import { STREAM_WINDOW_BYTES } from './exec.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const MIB = 1024 * 1024;

let testHost: TestHost;
let computer: Container;

beforeAll(async () => {
  testHost = await openTestHost();
  ({ computer } = await testHost.createComputer());
}, SETUP_TIMEOUT_MS);
afterAll(() => testHost?.close());

/** A consumer that takes nothing until it is released. */
function heldBack() {
  const gate = Promise.withResolvers<void>();
  let open = false;
  const taken = { bytes: 0, sha256: createHash('sha256') };
  return {
    taken,
    consume: (chunk: Buffer) => {
      taken.bytes += chunk.length;
      taken.sha256.update(chunk);
      return open ? undefined : gate.promise;
    },
    letGo: () => {
      open = true;
      gate.resolve();
    },
  };
}

test('all of 40 MB arrives in order, though a tenth of it is kept of an exec that waits for its end', async () => {
  const { consume, taken, letGo } = heldBack();
  letGo();
  const result = await run(computer, 'seq 1 6000000 | head -c 40000000', {
    consume,
    outputBytesMax: 4 * MIB,
  });
  expect(result).toMatchObject({ exitCode: 0, truncated: false, outputBytes: 40_000_000 });
  expect(result.output.length).toBe(0);
  expect(taken.bytes).toBe(40_000_000);
  const expected = await run(computer, 'seq 1 6000000 | head -c 40000000 | sha256sum');
  expect(expected.output.toString()).toBe(`${taken.sha256.digest('hex')}  -\n`);
});

test('a command waits for a stalled consumer, and others do not', async () => {
  const { consume, taken, letGo } = heldBack();
  // The flood has stopped when the count that the program writes stands still.
  const flood = run(
    computer,
    `python3 -u -c '
import os
count = 0
block = bytes(65536)
while count < 320:
    os.write(1, block)
    count += 1
    open("written", "w").write(str(count))
'`,
    { consume, timeoutMs: 120_000 },
  );
  const written = async () => Number((await run(computer, 'cat written 2>/dev/null || echo 0')).output);
  await expect.poll(() => taken.bytes).toBeGreaterThan(0);
  let before = -1;
  await expect
    .poll(
      async () => {
        const now = await written();
        const still = now === before && now > 0;
        before = now;
        return still;
      },
      { interval: 300 },
    )
    .toBe(true);
  expect(taken.bytes).toBeLessThanOrEqual(STREAM_WINDOW_BYTES);
  // Far less than all: the cap, the window, the buffer beyond the cap, and the pipe.
  expect(before).toBeLessThan((2 * MIB) / 65_536);
  letGo();
  expect(await flood).toMatchObject({ exitCode: 0, truncated: false });
  expect(taken.bytes).toBe(320 * 65_536);
});

test('a command that waits for its consumer still ends at its timeout, with its output', async () => {
  const { consume, taken, letGo } = heldBack();
  const flood = run(computer, 'yes', { consume, timeoutMs: 1_000 });
  const alive = async () => (await run(computer, 'pgrep -xc yes')).output.toString();
  await expect.poll(alive).toBe('0\n');
  letGo();
  expect(await flood).toMatchObject({ timedOut: true, truncated: false });
  expect(taken.bytes).toBe((await flood).outputBytes);
});

test('bytes of every value pass, and none of a stream that writes nothing', async () => {
  const pieces: Buffer[] = [];
  await run(computer, `python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)'`, {
    consume: (chunk) => void pieces.push(chunk),
  });
  const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
  expect(Buffer.concat(pieces).equals(Buffer.concat(Array(1000).fill(all)))).toBe(true);
  const none: Buffer[] = [];
  const silent = await run(computer, 'exit 7', { consume: (chunk) => void none.push(chunk) });
  expect(silent).toMatchObject({ exitCode: 7, outputBytes: 0 });
  expect(none).toEqual([]);
});

test('many streams at once are whole, each its own', async () => {
  const sums = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const sha256 = createHash('sha256');
      await run(computer, `seq ${n} 300000`, { consume: (chunk) => void sha256.update(chunk) });
      return sha256.digest('hex');
    }),
  );
  const expected = await run(computer, 'for n in $(seq 0 19); do seq $n 300000 | sha256sum; done');
  expect(expected.output.toString()).toBe(sums.map((sum) => `${sum}  -\n`).join(''));
});

test('a result with `keep` can be fetched repeatedly; another is gone once received', async () => {
  await run(computer, 'echo kept; exit 4', { id: 'to-keep', keep: true });
  await run(computer, 'echo gone', { id: 'to-forget' });
  expect(await computer.init.execs()).toEqual([{ id: 'to-keep', running: false, kept: true }]);
  for (let time = 0; time < 3; time++) {
    const again = await computer.init.attach('to-keep');
    expect(again).toMatchObject({ exitCode: 4, truncated: false });
    expect(again.output.toString()).toBe('kept\n');
  }
});

test('a stream over the cap keeps its beginning, marked as truncated', async () => {
  let bytes = 0;
  const streamed = await run(computer, 'seq 1 100000', {
    id: 'long-one',
    keep: true,
    outputBytesMax: 20,
    consume: (chunk) => {
      bytes += chunk.length;
    },
  });
  expect(streamed).toMatchObject({ truncated: false, outputBytes: 588_895 });
  expect(bytes).toBe(588_895);
  const kept = await computer.init.attach('long-one');
  expect(kept).toMatchObject({ truncated: true, outputBytes: 588_895, exitCode: 0 });
  expect(kept.output.toString()).toBe('1\n2\n3\n4\n5\n6\n7\n8\n9\n10');
});

test('a stream whose agent ends does not block: its command goes on to its end', async () => {
  const abandoned = await testHost.connect(computer);
  const begun = Promise.withResolvers<void>();
  const lost = run(abandoned, 'head -c 20000000 /dev/zero; echo done > ended', {
    id: 'abandoned',
    timeoutMs: 120_000,
    consume: () => {
      begun.resolve();
      return new Promise(() => {}); // takes nothing more, ever
    },
  });
  await begun.promise;
  abandoned.release();
  await expect(lost).rejects.toMatchObject({ code: 'computer_failed' });
  const ended = async () => (await run(computer, 'cat ended')).output.toString();
  await expect.poll(ended).toBe('done\n');
  expect(await computer.init.attach('abandoned')).toMatchObject({ exitCode: 0, truncated: true });
});
