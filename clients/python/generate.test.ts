import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { generatePython, SOURCES } from './generate.ts';

/** The generator may have to be installed first. */
const TEST_MS_MAX = 600_000;

test('the committed Python matches the OpenAPI document and `aio`; if not, run `npm run client`', {
  timeout: TEST_MS_MAX,
}, async () => {
  const folder = await temporaryFolder('python-client');
  await cp(join(SOURCES, 'aio'), join(folder, 'aio'), { recursive: true });
  await generatePython(folder);
  const modules = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.py'));
  expect(modules).toEqual(expect.arrayContaining(['api.py', 'client.py', 'types.py', 'aio/api.py']));
  for (const name of modules) {
    const [committed, current] = await Promise.all(
      [SOURCES, folder].map((at) => readFile(join(at, name), 'utf8')),
    );
    expect(committed === current, name).toBe(true);
  }
});
