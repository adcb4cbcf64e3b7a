/** With a minimal `apt-get`: a script that records its arguments. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEBIAN_PACKAGES, PROGRAMS } from '@switchyard/local-models/programs';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createDebianPackages } from './debian-packages.ts';
import { ensureLocalPrograms } from './local-programs.ts';
import { createProgress } from './progress.ts';

const COMMAND = 'apt-get install -y espeak-ng ffmpeg pocketsphinx pocketsphinx-en-us';
const withRoot = test.skipIf(process.getuid?.() !== 0);

/** A machine whose PATH has these programs and an `apt-get` that ends with `aptCode`. */
async function machine(programs: readonly string[], aptCode = 0) {
  const folder = await temporaryFolder();
  const calls = join(folder, 'apt-calls');
  await writeFile(join(folder, 'apt-get'), `#!/bin/sh\necho "$@" >> ${calls}\nexit ${aptCode}\n`, {
    mode: 0o755,
  });
  for (const program of programs) await writeFile(join(folder, program), '#!/bin/sh\n', { mode: 0o755 });
  const env = { PATH: folder };
  const lines: string[] = [];
  return {
    options: {
      env,
      packages: createDebianPackages(env),
      progress: createProgress((line) => lines.push(line)),
    },
    lines,
    calls: () => readFile(calls, 'utf8').catch(() => ''),
  };
}

withRoot('root gets the packages of all local models where one program is missing', async () => {
  const { options, calls } = await machine(['espeak-ng', 'ffmpeg']);
  await ensureLocalPrograms(options);
  expect(await calls()).toMatch(new RegExp(`^update .*\ninstall .* ${DEBIAN_PACKAGES.join(' ')}\n$`));
});

withRoot('a failed installation is one line that names the command', async () => {
  const { options, lines } = await machine([], 100);
  await ensureLocalPrograms(options);
  expect(lines.at(-1)).toContain(COMMAND);
});

test('without root nothing is installed, and one line names the command', async () => {
  const { options, lines, calls } = await machine(['ffmpeg']);
  await ensureLocalPrograms({ ...options, packages: { ...options.packages, possible: false } });
  expect(lines).toEqual([expect.stringContaining(COMMAND)]);
  expect(await calls()).toBe('');
});

test('where all programs are present nothing is installed or written', async () => {
  const { options, lines, calls } = await machine(Object.keys(PROGRAMS));
  await ensureLocalPrograms(options);
  expect(lines).toEqual([]);
  expect(await calls()).toBe('');
});
