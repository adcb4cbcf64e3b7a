import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openHostIdle } from './host-idle.ts';

test('a core is idle when it does nothing, and when it waits for a disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-idle-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'stat');
  await writeFile(
    path,
    'cpu  2866895 98621 1165686 2930849 35413 0 33520 9840 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n',
  );
  const idleMs = openHostIdle(path);
  expect(idleMs?.()).toBe((2_930_849 + 35_413) * 10);
});

test('a kernel that does not tell is done without', () => {
  expect(openHostIdle('/nowhere/stat')).toBeUndefined();
});

test.runIf(process.platform === 'linux')('the one that we run on tells, and never counts back', () => {
  const idleMs = openHostIdle();
  const before = idleMs?.() ?? Number.NaN;
  expect(before).toBeGreaterThan(0);
  expect(idleMs?.()).toBeGreaterThanOrEqual(before);
});
