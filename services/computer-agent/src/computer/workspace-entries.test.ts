// Reading, listing and removing in a workspace whose owner is against us: never outside of it, never held up.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { FOLDER_ENTRIES_MAX, ServiceError } from '@switchyard/contracts';
import { temporaryFolder } from '@switchyard/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runProgram, shellPid } from '../docker/host-programs.ts';
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

const remove = (path: string, recursive = false) =>
  removeEntry(workspace, workspaceNames(path), { recursive });

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
  test('gives all of a file or a part of it, and another tag when it has changed', async () => {
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

  test('follows no link, at the end or on the way, and says so', async () => {
    await symlink(join(outside, 'secret'), join(workspace, 'link'));
    await symlink(outside, join(workspace, 'folder'));
    await symlink('loop', join(workspace, 'loop'));
    for (const path of ['link', 'folder/secret', 'folder', 'loop', 'loop/x'])
      await expect(read(path)).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
  });

  test('is not held up by a pipe, and takes no socket for a file', async () => {
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    await expect(read('pipe')).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
  });

  test('of what is not there is 404, of a file taken for a folder 400', async () => {
    await writeFile(join(workspace, 'file'), '');
    for (const path of ['none', 'none/at/all'])
      await expect(read(path)).rejects.toMatchObject({ code: 'path_not_found' });
    await expect(read('file/x')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('stays with the file that was opened, whatever is put in its place', async () => {
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

  test('fails of a file that becomes shorter meanwhile: no part passes for all', async () => {
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

  test('never leaves the workspace, while a folder on the way is swapped for a link again and again', async () => {
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
    // As often as it takes to have met it as a folder, too.
    for (let time = 0; time < 500 || !seen.has('of the computer'); time++)
      seen.add(await read('a/secret').catch((error: ServiceError) => error.code));
    swapping = false;
    await swap;
    expect(seen).not.toContain('of the host');
    expect(seen).toContain('of the computer');
  });
});

test('a listing tells files, folders, links and the rest, by name, also of names that are no text', async () => {
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

test('of a folder that is closed while it is listed, no part passes for the whole', async () => {
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
  test('takes a file, a link itself, an empty folder; a full one only where that is asked for', async () => {
    await writeFile(join(workspace, 'file'), '');
    await symlink(join(outside, 'secret'), join(workspace, 'link'));
    await mkdir(join(workspace, 'empty'));
    await mkdir(join(workspace, 'full/of'), { recursive: true });
    await symlink(outside, join(workspace, 'full/of/links'));
    for (const path of ['file', 'link', 'empty']) await remove(path);
    await expect(remove('full')).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
    await remove('full', true);
    expect(await readdir(workspace)).toEqual([]);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  test('goes through no link, never takes the workspace itself, and 404 of what is not there', async () => {
    await symlink(outside, join(workspace, 'folder'));
    await expect(remove('folder/secret')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(remove('', true)).rejects.toMatchObject({ code: 'invalid_request' });
    for (const path of ['none', 'none/at/all'])
      await expect(remove(path, true)).rejects.toMatchObject({ code: 'path_not_found' });
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  test('refuses a folder that is nested too deep for the memory of the program', async () => {
    const nest = 'for (1..15_000) { mkdir $ARGV[0] or die $!; chdir $ARGV[0] or die $! }';
    const name = 'd'.repeat(255);
    execFileSync('perl', ['-e', nest, name], { cwd: workspace });
    const removed = removeEntry(workspace, [name], { recursive: true, memoryBytesMax: 8 * 1024 * 1024 });
    await expect(removed).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('nested too deep'),
    });
    await remove(name, true);
    expect(await readdir(workspace)).toEqual([]);
  });

  test('says which entry of a folder could not be removed', async () => {
    const kept = join(workspace, 'a/kept');
    await mkdir(kept, { recursive: true });
    // A file system in the way stands for a program that adds files faster than they are removed.
    execFileSync('mount', ['-t', 'tmpfs', 'none', kept]);
    const refused = await remove('a', true).catch((error: unknown) => error);
    execFileSync('umount', [kept]);
    expect(refused).toMatchObject({
      code: 'computer_failed',
      message: expect.stringMatching(/not removed.*rm: .*a\/kept/),
    });
  });

  test('takes a folder whose name looks like an option', async () => {
    await mkdir(join(workspace, '--help/x'), { recursive: true });
    await remove('--help', true);
    expect(await readdir(workspace)).toEqual([]);
  });

  describe('a folder takes nothing of another computer, whose folder gets the descriptor:', () => {
    let other: string;

    beforeEach(async () => {
      other = join(outside, 'other');
      for (const folder of [workspace, other]) {
        await mkdir(join(folder, 'x'), { recursive: true });
        await writeFile(join(folder, 'x/file'), '');
      }
    });

    /** Number of this process's descriptor of the workspace. */
    async function workspaceDescriptor(): Promise<number> {
      const found = new Set<number>();
      for (const name of await readdir('/proc/self/fd'))
        if ((await readlink(`/proc/self/fd/${name}`).catch(() => '')) === workspace) found.add(Number(name));
      expect(found.size).toBe(1);
      return [...found][0]!;
    }

    /** Opens the other folder, as often as it takes to get this descriptor; `false` if it is in use. */
    async function openOther(descriptor: number): Promise<boolean> {
      const opened: FileHandle[] = [];
      onTestFinished(async () => void (await Promise.all(opened.map((handle) => handle.close()))));
      for (let n = 0; n < 32; n += 1) {
        opened.push(await open(other));
        if (opened.at(-1)?.fd === descriptor) return true;
      }
      return false;
    }

    test('its caller leaves before the shell reads the command', async () => {
      await runProgram('true', []); // the shell runs
      const shell = shellPid()!;
      process.kill(shell, 'SIGSTOP');
      onTestFinished(() => void process.kill(shell, 'SIGCONT'));
      const reason = new Error('the caller left');
      const caller = new AbortController();
      const sent = vi.spyOn(caller.signal, 'addEventListener');
      const removed = removeEntry(workspace, ['x'], { recursive: true, signal: caller.signal });
      const settled = vi.fn();
      removed.catch(settled);
      await expect.poll(() => sent.mock.calls.length, { interval: 5 }).toBe(1);
      const descriptor = await workspaceDescriptor();
      caller.abort(reason);
      expect(await openOther(descriptor)).toBe(false);
      expect(settled).not.toHaveBeenCalled();
      process.kill(shell, 'SIGCONT');
      await expect(removed).rejects.toBe(reason);
      await runProgram('true', []);
      expect(existsSync(join(other, 'x/file'))).toBe(true);
    });

    test('the shell is killed before the program has entered the folder', async () => {
      const arrived = join(outside, 'arrived');
      const gate = join(outside, 'gate');
      // Each bash reads this file first.
      await writeFile(
        join(outside, 'environment'),
        `if [ -e '${gate}' ]; then echo $$ > '${arrived}'; while [ -e '${gate}' ]; do sleep 0.02; done; fi`,
      );
      const running = shellPid();
      if (running !== undefined) process.kill(running, 'SIGKILL');
      await expect.poll(shellPid).toBeUndefined();
      vi.stubEnv('BASH_ENV', join(outside, 'environment'));
      await runProgram('true', []); // starts another shell
      vi.unstubAllEnvs();
      await writeFile(gate, '');
      const removed = expect(removeEntry(workspace, ['x'], { recursive: true })).rejects.toThrow(
        'was killed',
      );
      await expect.poll(() => readFile(arrived, 'utf8').catch(() => ''), { interval: 5 }).toMatch(/\n$/);
      const program = (await readFile(arrived, 'utf8')).trim();
      const descriptor = await workspaceDescriptor();
      process.kill(shellPid()!, 'SIGKILL');
      await removed;
      expect(await openOther(descriptor)).toBe(true);
      await rm(gate);
      await expect.poll(() => existsSync(`/proc/${program}`)).toBe(false);
      expect(existsSync(join(other, 'x/file'))).toBe(true);
    });
  });
});
