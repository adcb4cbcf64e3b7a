import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { readOrMakeKey, readOrMakeProvidersSecret } from './secret-files.ts';
import { SetupError } from './setup-error.ts';

test('the first start makes a key that only its owner can read; later ones find it', async () => {
  const folder = await temporaryFolder();
  const first = await readOrMakeKey(folder);
  expect(first).toMatchObject({ made: true, file: join(folder, 'key') });
  expect(first.key).toMatch(/^sy_[A-Za-z0-9_-]{43}$/);
  expect((await stat(first.file)).mode & 0o777).toBe(0o600);
  expect(await readFile(first.file, 'utf8')).toBe(`${first.key}\n`);
  expect(await readOrMakeKey(folder)).toEqual({ ...first, made: false });
});

test('two installations have different keys', async () => {
  const [one, other] = [
    await readOrMakeKey(await temporaryFolder()),
    await readOrMakeKey(await temporaryFolder()),
  ];
  expect(one.key).not.toBe(other.key);
});

test('a file that holds no key is not replaced in silence', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'key'), 'short\n');
  await expect(readOrMakeKey(folder)).rejects.toThrow(SetupError);
});

test('the secret of providers is made once, for its owner only, and never replaced in silence', async () => {
  const folder = await temporaryFolder();
  const secret = await readOrMakeProvidersSecret(folder);
  const file = join(folder, 'providers-secret');
  expect(secret).toHaveLength(43);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readOrMakeProvidersSecret(folder)).toBe(secret);
  await writeFile(file, 'cut off\n');
  await expect(readOrMakeProvidersSecret(folder)).rejects.toThrow(SetupError);
});
