import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { withBuildLock } from './build-lock.ts';

const HOLDER = fileURLToPath(new URL('./__fixtures__/lock-holder.ts', import.meta.url));
const newName = () => randomBytes(8).toString('hex');
const never = new AbortController().signal;

test('of many at once one works; the others wait, hear its progress and find it done', async () => {
  const name = newName();
  let done = false;
  let runs = 0;
  const heard: string[] = [];
  const waitersHeard = Promise.withResolvers<void>();
  const one = () =>
    withBuildLock(
      {
        name,
        signal: never,
        onProgress: (message) => {
          heard.push(message);
          if (heard.length === 3) waitersHeard.resolve();
        },
      },
      async () => done,
      async (tell) => {
        runs += 1;
        tell('half way');
        await waitersHeard.promise;
        done = true;
      },
    );
  await Promise.all([one(), one(), one(), one()]);
  expect(runs).toBe(1);
  expect(heard).toEqual(['half way', 'half way', 'half way']);
});

test('when the one that works fails, the next one tries', async () => {
  const name = newName();
  const attempt = (work: () => Promise<void>) =>
    withBuildLock({ name, signal: never, onProgress: () => {} }, async () => false, work);
  const failing = attempt(() => Promise.reject(new Error('no network')));
  let ran = false;
  const next = attempt(async () => {
    ran = true;
  });
  await expect(failing).rejects.toThrow('no network');
  await next;
  expect(ran).toBe(true);
});

test('the lock of a process that was killed is free at once', async () => {
  const name = newName();
  const holder = fork(HOLDER, [name]);
  await once(holder, 'message');
  const waiting = withBuildLock(
    { name, signal: never, onProgress: () => {} },
    async () => false,
    async () => {},
  );
  holder.kill('SIGKILL');
  await waiting;
});

test('waiting ends when it is no longer wanted', async () => {
  const name = newName();
  const leave = new AbortController();
  const options = { name, onProgress: () => {} };
  const hold = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = withBuildLock(
    { ...options, signal: never },
    async () => false,
    () => {
      held.resolve();
      return hold.promise;
    },
  );
  await held.promise;
  const waiting = withBuildLock(
    { ...options, signal: leave.signal },
    async () => false,
    async () => {},
  );
  leave.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  hold.resolve();
  await holding;
});
