import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { generateTypes, TYPES_FILE } from './generate.ts';

test('the committed types are those of the OpenAPI document; `npm run client` writes them', async () => {
  const committed = await readFile(TYPES_FILE, 'utf8');
  // A plain comparison: a difference of ten thousand lines helps no one.
  expect(committed === (await generateTypes())).toBe(true);
});
