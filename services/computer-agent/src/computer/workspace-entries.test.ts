// Reading, listing and removing in a hostile workspace: never outside of it, never blocked.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FOLDER_ENTRIES_MAX, ServiceError } from '@switchyard/contracts';
import { temporaryFolder } from '@switchyard/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listFolder, openEntry, readBytes } from './open-entry.ts';
import { removeEntry } from './remove-entry.ts';
import { absolutePath, workspaceFile, workspaceNames } from './workspace-path.ts';

let outside: string;
let workspace: string;

beforeEach(async () => {
  outside = await temporaryFolder('entries');
  workspace = join(outside, 'workspace');
  await mkdir(workspace);
  await writeFile(join(outside, 'secret'), 'of the host');
});
afterEach(() => rm(outside, { recursive: true, force: true }));

async function read(path: string, start = 0, end?: number): Promise<string> {
  const entry = await openEntry(workspace, workspaceNames(path));
  try {
    if (entry.kind !== 'file') throw new Error('a folder');
    const pieces: Buffer[] = [];
    for await (const piece of readBytes(entry, start, end ?? entry.bytes)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  } finally {
    await entry.handle.close();
  }
}

async function list(path: string) {
  const entry = await openEntry(workspace, workspaceNames(path));
  try {
    if (entry.kind !== 'folder') throw new Error('a file');
    return await listFolder(entry);
  } finally {
    await entry.handle.close();
  }
}

const remove = (path: string) => removeEntry(workspace, workspaceNames(path));

describe('a path', () => {
  test.each([
    ['', '/workspace'],
    ['/workspace/', '/workspace'],
    ['./a//b/', '/workspace/a/b'],
  ])('%j is %s', (path, absolute) => {
    expect(absolutePath(workspaceNames(path))).toBe(absolute);
  });

  test.each(['..', 'a/../../b', '/etc/passwd', '/workspace/../etc', 'a\0b', 'x'.repeat(256)])(
    '%j is refused',
    (path) => {
      expect(() => workspaceNames(path)).toThrow(ServiceError);
    },
  );

  test.each(['', '/workspace', 'folder/', 'folder/.'])('%j names no file to write', (path) => {
    expect(() => workspaceFile(path)).toThrow(ServiceError);
  });
});

describe('reading', () => {
  test('returns a file or a part of it, and another tag once it has changed', async () => {
    await mkdir(join(workspace, 'a/b'), { recursive: true });
    const text = `${'x'.repeat(300_000)}the end`;
    await writeFile(join(workspace, 'a/b/file'), text);
    expect(await read('a/b/file')).toBe(text);
    expect(await read('/workspace/a/b/file', 300_000, 300_003)).toBe('the');
    const tag = async () => {
      const entry = await openEntry(workspace, ['a', 'b', 'file']);
      await entry.handle.close();
      return entry.kind === 'file' ? entry.etag : null;
    };
    const before = await tag();
    expect(await tag()).toBe(before);
    await utimes(join(workspace, 'a/b/file'), 1, 1);
    expect(await tag()).not.toBe(before);
  });

  test('refuses a link, at the end or in the middle', async () => {
    await symlink(join(outside, 'secret'), join(workspace, 'link'));
    await symlink(outside, join(workspace, 'folder'));
    await symlink('loop', join(workspace, 'loop'));
    for (const path of ['link', 'folder/secret', 'folder', 'loop', 'loop/x'])
      await expect(read(path)).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
  });

  test('does not block on a pipe, and refuses a socket', async () => {
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    await expect(read('pipe')).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
  });

  test('of a missing entry is 404, of a file used as a folder 400', async () => {
    await writeFile(join(workspace, 'file'), '');
    for (const path of ['none', 'none/at/all'])
      await expect(read(path)).rejects.toMatchObject({ code: 'path_not_found' });
    await expect(read('file/x')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('stays with the opened file, whatever replaces it', async () => {
    await writeFile(join(workspace, 'file'), 'first');
    const entry = await openEntry(workspace, ['file']);
    if (entry.kind !== 'file') throw new Error('a folder');
    await rename(join(workspace, 'file'), join(workspace, 'moved'));
    await symlink(join(outside, 'secret'), join(workspace, 'file'));
    const pieces: Buffer[] = [];
    for await (const piece of readBytes(entry, 0, entry.bytes)) pieces.push(piece);
    await entry.handle.close();
    expect(Buffer.concat(pieces).toString()).toBe('first');
  });

  test('fails if the file is shortened meanwhile: no part passes for the whole', async () => {
    await writeFile(join(workspace, 'file'), 'x'.repeat(300_000));
    const entry = await openEntry(workspace, ['file']);
    if (entry.kind !== 'file') throw new Error('a folder');
    const bytes = readBytes(entry, 0, entry.bytes);
    await bytes.next();
    await truncate(join(workspace, 'file'), 140_000);
    await bytes.next();
    await expect(bytes.next()).rejects.toMatchObject({ code: 'computer_failed' });
    await entry.handle.close();
  });

  test('never leaves the workspace while a folder on its path is swapped for a link repeatedly', async () => {
    await mkdir(join(workspace, 'a'));
    await writeFile(join(workspace, 'a/secret'), 'of the computer');
    await symlink(outside, join(workspace, 'b'));
    let swapping = true;
    const swap = (async () => {
      while (swapping) {
        await rename(join(workspace, 'a'), join(workspace, 'c'));
        await rename(join(workspace, 'b'), join(workspace, 'a'));
        await rename(join(workspace, 'a'), join(workspace, 'b'));
        await rename(join(workspace, 'c'), join(workspace, 'a'));
      }
    })();
    const seen = new Set<string>();
    // Until it was met as a folder, too.
    for (let time = 0; time < 500 || !seen.has('of the computer'); time++)
      seen.add(await read('a/secret').catch((error: ServiceError) => error.code));
    swapping = false;
    await swap;
    expect(seen).not.toContain('of the host');
    expect(seen).toContain('of the computer');
  });
});

test('a listing has files, folders, links and others by name, also names that are not UTF-8', async () => {
  await mkdir(join(workspace, 'folder'));
  await writeFile(join(workspace, 'file'), '12345');
  await symlink('/etc/passwd', join(workspace, 'link'));
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  await writeFile(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff, 0x61])]), 'odd');
  const { entries, has_more } = await list('');
  expect(has_more).toBe(false);
  expect(entries.map(({ name, type, bytes }) => [name, type, type === 'file' ? bytes : null])).toEqual([
    ['file', 'file', 5],
    ['folder', 'folder', null],
    ['link', 'link', null],
    ['pipe', 'other', null],
    ['\ufffda', 'file', 3],
  ]);
  expect(await list('folder')).toEqual({ entries: [], has_more: false });
});

test(`of a folder with over ${FOLDER_ENTRIES_MAX} entries so many are listed, and it is said`, async () => {
  execFileSync('sh', ['-c', `seq 1 ${FOLDER_ENTRIES_MAX + 1} | xargs touch`], { cwd: workspace });
  const { entries, has_more } = await list('');
  expect(entries.length).toBe(FOLDER_ENTRIES_MAX);
  expect(has_more).toBe(true);
});

test('a listing fails if its folder closes meanwhile: no part passes for all', async () => {
  for (let i = 0; i < 100; i += 1) await writeFile(join(workspace, String(i)), '');
  const entry = await openEntry(workspace, []);
  for (const looksBefore of [2, 40, 301]) {
    let looks = 0;
    const handle = Object.create(entry.handle, {
      fd: { get: () => (looks++ < looksBefore ? entry.handle.fd : -1) },
    });
    await expect(listFolder({ kind: 'folder', handle })).rejects.toMatchObject({ code: 'computer_failed' });
  }
  await entry.handle.close();
});

describe('removing', () => {
  test('takes a file, a link itself, an empty folder, and leaves a full one', async () => {
    await writeFile(join(workspace, 'file'), '');
    await symlink(join(outside, 'secret'), join(workspace, 'link'));
    await mkdir(join(workspace, 'empty'));
    await mkdir(join(workspace, 'full/of'), { recursive: true });
    await symlink(outside, join(workspace, 'full/of/links'));
    for (const path of ['file', 'link', 'empty']) expect(await remove(path)).toBe(true);
    expect(await remove('full')).toBe(false);
    expect(await readdir(workspace)).toEqual(['full']);
    expect(await readdir(join(workspace, 'full/of'))).toEqual(['links']);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  test('follows no link, refuses the workspace itself, and is 404 for a missing entry', async () => {
    await symlink(outside, join(workspace, 'folder'));
    await expect(remove('folder/secret')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(remove('')).rejects.toMatchObject({ code: 'invalid_request' });
    for (const path of ['none', 'none/at/all'])
      await expect(remove(path)).rejects.toMatchObject({ code: 'path_not_found' });
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });
});
