// With a file that two computers map they would share the kernel's lock of it, which every fork takes.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningComputer } from './computer-host.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost, writtenFolder } from './test-host.ts';

/** The static shell that commands are run by; the shell, C library and loader of what these start; at the least. */
const MAPPED_MIN = 4;
const LIST_MAPPED = `awk '$6 ~ "^/" { print $6 }' /proc/$$/maps`;

let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost();
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close());

async function mappedFiles(computer: RunningComputer): Promise<string[]> {
  const both = `{ ${LIST_MAPPED}\nbash <<'END'\n${LIST_MAPPED}\nEND\n} | sort -u`;
  const { output } = await run(computer, both);
  return output.toString().split('\n').filter(Boolean);
}

test('what every command maps is a file of the computer’s own, as it is in the image', async () => {
  const [one, other] = [await testHost.createComputer(), await testHost.createComputer()];
  const paths = await mappedFiles(one.computer);
  expect(paths.length).toBeGreaterThanOrEqual(MAPPED_MIN);
  expect(paths).toEqual(
    expect.arrayContaining([expect.stringMatching(/bin\/bash-static$/), expect.stringMatching(/bin\/bash$/)]),
  );
  expect(await mappedFiles(other.computer)).toEqual(paths);
  const folders = [await writtenFolder(one.computer), await writtenFolder(other.computer)];
  for (const path of paths) {
    const [first, second] = await Promise.all(folders.map((folder) => stat(join(folder, path))));
    expect([first!.dev, first!.ino], path).not.toEqual([second!.dev, second!.ino]);
  }
  // Its manuals are not in the image.
  const { output } = await run(
    one.computer,
    'dpkg --verify bash bash-static libc6 libtinfo6 | grep -vE "/usr/share/(doc|man)/.*bash-static"',
  );
  expect(output.toString()).toBe('');
});
