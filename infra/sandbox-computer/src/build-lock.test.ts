import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { withBuildLock } from './build-lock.ts';
import { WORK_PARENT } from './work-directory.ts';

const HOLDER = fileURLToPath(new URL('./__fixtures__/lock-holder.ts', import.meta.url));
const RUN = `test-${randomBytes(8).toString('hex')}`;
let names = 0;
const newName = () => `${RUN}-${++names}`;
const { signal: never } = new AbortController();

afterAll(async () => {
  const files = (await readdir(WORK_PARENT)).filter((name) => name.includes(RUN));
  for (const file of files) await rm(join(WORK_PARENT, file));
});

test('of many at once one works at a time', async () => {
  const name = newName();
  let working = 0;
  const seen: number[] = [];
  const one = () =>
    withBuildLock({ name, signal: never }, async () => {
      seen.push(++working);
      await new Promise(setImmediate);
      working -= 1;
    });
  await Promise.all([one(), one(), one(), one()]);
  expect(seen).toEqual([1, 1, 1, 1]);
});

test('when the one that works fails, the next one works', async () => {
  const name = newName();
  const failing = withBuildLock({ name, signal: never }, () => Promise.reject(new Error('no network')));
  const next = withBuildLock({ name, signal: never }, async () => 'ran');
  await expect(failing).rejects.toThrow('no network');
  expect(await next).toBe('ran');
});

test('the lock of a process that was killed is free at once', async () => {
  const name = newName();
  const holder = fork(HOLDER, [name]);
  await once(holder, 'message');
  const waiting = withBuildLock({ name, signal: never }, async () => 'ran');
  holder.kill('SIGKILL');
  expect(await waiting).toBe('ran');
});

test('waiting ends when it is no longer wanted', async () => {
  const name = newName();
  const leave = new AbortController();
  const held = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<void>();
  const holding = withBuildLock({ name, signal: never }, () => {
    held.resolve();
    return hold.promise;
  });
  await held.promise;
  const waiting = withBuildLock({ name, signal: leave.signal }, async () => {});
  leave.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  hold.resolve();
  await holding;
});
