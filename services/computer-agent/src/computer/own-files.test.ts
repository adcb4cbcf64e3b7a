// With a file that two computers map they would share the kernel's lock of it, which every fork takes.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningComputer } from './computer-host.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost, writtenFolder } from './test-host.ts';

/** Shell, C library and loader, at the least. */
const MAPPED_MIN = 3;

let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost();
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close());

async function mappedFiles(computer: RunningComputer): Promise<string[]> {
  const { output } = await run(computer, `awk '$6 ~ "^/" { print $6 }' /proc/$$/maps | sort -u`);
  return output.toString().split('\n').filter(Boolean);
}

test('what every command maps is a file of the computer’s own, as it is in the image', async () => {
  const [one, other] = [await testHost.createComputer(), await testHost.createComputer()];
  const paths = await mappedFiles(one.computer);
  expect(paths.length).toBeGreaterThanOrEqual(MAPPED_MIN);
  expect(await mappedFiles(other.computer)).toEqual(paths);
  const folders = [await writtenFolder(one.computer), await writtenFolder(other.computer)];
  for (const path of paths) {
    const [first, second] = await Promise.all(folders.map((folder) => stat(join(folder, path))));
    expect([first!.dev, first!.ino], path).not.toEqual([second!.dev, second!.ino]);
  }
  const { output } = await run(one.computer, 'dpkg --verify bash libc6 libtinfo6');
  expect(output.toString()).toBe('');
});
