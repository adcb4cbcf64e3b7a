import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { GENERATED, generatePython, SOURCES } from './generate.ts';

test('the committed Python is that of the OpenAPI document; `npm run client` writes it', async () => {
  const folder = await temporaryFolder('python-client');
  await generatePython(folder);
  for (const name of GENERATED) {
    const [committed, current] = await Promise.all(
      [SOURCES, folder].map((at) => readFile(join(at, name), 'utf8')),
    );
    expect(committed === current, name).toBe(true);
  }
});
