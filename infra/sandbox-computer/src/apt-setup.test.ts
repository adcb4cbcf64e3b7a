import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readAptSetup, renderSources } from './apt-setup.ts';

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

async function aptDirectory(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'apt-'));
  directories.push(directory);
  await mkdir(join(directory, 'sources.list.d'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

test('the mirror of the host is taken, its comments and other archives are not', async () => {
  const setup = await readAptSetup(
    await aptDirectory({
      'sources.list':
        '# deb http://old.example/debian bookworm main\ndeb http://mirror.example/pub/debian/ bookworm main\n',
      'sources.list.d/security.sources':
        'Types: deb\n# a remark\nURIs: https://mirror.example/debian-security\nSuites: bookworm-security\nComponents: main\n',
      'sources.list.d/tool.list': 'deb http://tool.example/apt stable main\n',
    }),
  );
  expect(setup.mirror).toBe('http://mirror.example/pub/debian');
  expect(setup.securityMirror).toBe('https://mirror.example/debian-security');
  expect(renderSources(setup)).toContain(
    'URIs: http://mirror.example/pub/debian\nSuites: bookworm bookworm-updates\n',
  );
});

test('an address with a password never goes into an image', async () => {
  const setup = await readAptSetup(
    await aptDirectory({ 'sources.list': 'deb https://user:secret@mirror.example/debian bookworm main\n' }),
  );
  expect(setup.mirror).toBeUndefined();
  expect(renderSources(setup)).toBe('');
});

test('a host that is not Debian leaves the base system the sources it came with', async () => {
  const setup = await readAptSetup(
    await aptDirectory({ 'sources.list': 'deb http://archive.ubuntu.example/ubuntu noble main\n' }),
  );
  expect(renderSources(setup)).toBe('');
});
