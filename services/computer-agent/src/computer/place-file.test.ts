// Placing a file into a hostile workspace: never outside of it, never half.
import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError, type WriteCondition } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEntry } from './open-entry.ts';
import { workspacePath } from './workspace-path.ts';
import { openWorkspaces, type Workspaces } from './workspaces.ts';

const logger = makeLogger('test', 'silent');
let folder: string;
let workspaces: Workspaces;
let inside: string;

beforeEach(async () => {
  folder = await temporaryFolder('workspaces');
  workspaces = await openWorkspaces(folder, { logger });
  await workspaces.create('cmp_x');
  inside = workspaces.path('cmp_x');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* once(text: string) {
  yield Buffer.from(text);
}

const expected = (text: string) => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});

async function put(path: string | null, text = 'content', condition?: WriteCondition): Promise<void> {
  const staging = await workspaces.staging('cmp_x');
  const staged = await staging.receive(once(text), expected(text));
  const to = workspacePath(path, 'cities.csv');
  await workspaces.place('cmp_x', staged.path, to, condition).finally(staged.discard);
}

const staged = () => readdir(join(folder, 'incoming'));

describe('a path in /workspace', () => {
  test.each([
    [null, '/workspace/cities.csv'],
    ['a.txt', '/workspace/a.txt'],
    ['/workspace/a.txt', '/workspace/a.txt'],
    ['./a//b/./c', '/workspace/a/b/c'],
    ['data/', '/workspace/data/cities.csv'],
    ['data/.', '/workspace/data/cities.csv'],
    ['/workspace', '/workspace/cities.csv'],
    ['/workspace/', '/workspace/cities.csv'],
    ['.', '/workspace/cities.csv'],
    ['a b/ü "x"', '/workspace/a b/ü "x"'],
  ])('%j is %s', (path, absolute) => {
    expect(workspacePath(path, 'cities.csv').absolute).toBe(absolute);
  });

  test.each([
    '/etc/passwd',
    '../x',
    'a/../../x',
    'a/..',
    '/workspaces/x',
    '/',
    'a\0b',
    'x'.repeat(256),
    'a/'.repeat(80),
  ])('%j is refused by its name', (path) => {
    expect(() => workspacePath(path, 'cities.csv')).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'path' }),
    );
  });

  test('has no slashes of the file’s name', () => {
    expect(workspacePath(null, '../../etc/passwd').absolute).toBe('/workspace/.._.._etc_passwd');
  });
});

describe('a file', () => {
  test('is there with its folders, owned as the workspace is, readable by all inside, and no longer staged', async () => {
    await chown(inside, 1234, 4321);
    await put('a/b/cities.csv');
    const file = await stat(join(inside, 'a/b/cities.csv'));
    expect([file.uid, file.gid, file.mode & 0o7777]).toEqual([1234, 4321, 0o644]);
    const made = await stat(join(inside, 'a'));
    expect([made.uid, made.gid, made.mode & 0o7777]).toEqual([1234, 4321, 0o755]);
    expect(await readFile(join(inside, 'a/b/cities.csv'), 'utf8')).toBe('content');
    expect(await staged()).toEqual([]);
  });

  test('leaves folders that are there as they are, and replaces a file', async () => {
    await mkdir(join(inside, 'mine'));
    await chmod(join(inside, 'mine'), 0o700);
    await writeFile(join(inside, 'mine/a'), 'old, and longer than the new one');
    await link(join(inside, 'mine/a'), join(inside, 'mine/other-name'));
    await put('mine/a', 'new');
    expect(await readFile(join(inside, 'mine/a'), 'utf8')).toBe('new');
    expect(await readFile(join(inside, 'mine/other-name'), 'utf8')).toContain('old');
    expect((await stat(join(inside, 'mine'))).mode & 0o777).toBe(0o700);
  });

  test('keeps the owner and permissions of the file that it replaces, but no setuid, and nothing of a link', async () => {
    const script = join(inside, 'run.sh');
    await writeFile(script, 'old');
    await chown(script, 1234, 4321);
    await chmod(script, 0o6755);
    await symlink(script, join(inside, 'link'));
    for (const path of ['run.sh', 'link']) await put(path);
    const [file, link] = [await stat(script), await stat(join(inside, 'link'))];
    expect([file.uid, file.gid, file.mode & 0o7777]).toEqual([1234, 4321, 0o755]);
    expect([link.uid, link.gid, link.mode & 0o7777]).toEqual([0, 0, 0o644]);
  });

  test('is replaced only where its tag meets the condition', async () => {
    const tagOf = async () => {
      const entry = await openEntry(inside, ['a']);
      await entry.handle.close();
      return entry.kind === 'file' ? entry.etag : '';
    };
    const failed = { code: 'precondition_failed' };
    const only = (tag: string) => ({ if_match: tag, if_none_match: null });
    const except = (tag: string) => ({ if_match: null, if_none_match: tag });
    for (const tag of ['*', '"a"']) await expect(put('a', 'none', only(tag))).rejects.toMatchObject(failed);
    await put('a', 'first', except('*'));
    const first = await tagOf();
    for (const tag of ['*', first, `"a", ${first}`])
      await expect(put('a', 'again', except(tag))).rejects.toMatchObject(failed);
    await put('a', 'second', only(`"a", ${first}`));
    await expect(put('a', 'late', only(first))).rejects.toMatchObject(failed);
    expect(await readFile(join(inside, 'a'), 'utf8')).toBe('second');
    await put('a', 'third', only('*'));
    await put('a', 'fourth', except(first));
    expect(await readFile(join(inside, 'a'), 'utf8')).toBe('fourth');
    expect(await staged()).toEqual([]);
  });

  test('never follows a link: in the middle it is refused, at the end the link itself is replaced', async () => {
    const outside = await temporaryFolder('outside');
    await symlink(outside, join(inside, 'out'));
    await writeFile(join(outside, 'secret'), 'untouched');
    await symlink(join(outside, 'secret'), join(inside, 'last'));
    await symlink('/nowhere', join(inside, 'dangling'));
    for (const path of ['out/a', 'out/deeper/a', 'last/a', 'dangling/a'])
      await expect(put(path)).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
    await put('last', 'new');
    expect(await readdir(outside)).toEqual(['secret']);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('untouched');
    expect(await readFile(join(inside, 'last'), 'utf8')).toBe('new');
    expect(await staged()).toEqual([]);
    await rm(outside, { recursive: true });
  });

  test('lands inside or nowhere while those inside put links into its way', async () => {
    const outside = await temporaryFolder('outside');
    let attacking = true;
    const attacker = (async () => {
      while (attacking) {
        await mkdir(join(inside, 'race')).catch(() => {});
        await rename(join(inside, 'race'), join(inside, `was${Math.random()}`)).catch(() => {});
        await symlink(outside, join(inside, 'race')).catch(() => {});
        await rm(join(inside, 'race')).catch(() => {});
      }
    })();
    const outcomes: unknown[] = [];
    // Until a link was met.
    for (let n = 0; n < 200 || !outcomes.some((outcome) => outcome instanceof ServiceError); n += 1)
      outcomes.push(await put(`race/deep/${n}`).catch((error: unknown) => error));
    attacking = false;
    await attacker;
    expect(await readdir(outside)).toEqual([]);
    expect(outcomes).toContainEqual(expect.any(ServiceError));
    await rm(outside, { recursive: true });
  });

  test('does not take the place of a folder, nor pass through a file', async () => {
    await mkdir(join(inside, 'folder'));
    await writeFile(join(inside, 'file'), 'mine');
    await expect(put('folder')).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
    await expect(put('file/a')).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
    expect(await readFile(join(inside, 'file'), 'utf8')).toBe('mine');
  });

  test.each([
    ['is cut short', 'conten'],
    ['is longer', 'content and more'],
    ['is another one', 'CONTENT'],
  ])('that %s than what is stored is not put anywhere', async (_what, arrived) => {
    const outcome = (await workspaces.staging('cmp_x')).receive(once(arrived), expected('content'));
    await expect(outcome).rejects.toMatchObject({ code: 'computer_failed' });
    expect(await staged()).toEqual([]);
  });

  test('whose source breaks off, or whose agent dies, leaves nothing', async () => {
    async function* broken() {
      yield Buffer.from('con');
      throw new ServiceError('service_unavailable', 'gone');
    }
    const outcome = (await workspaces.staging('cmp_x')).receive(broken(), expected('content'));
    await expect(outcome).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await staged()).toEqual([]);
    await writeFile(join(folder, 'incoming/left-by-a-dead-agent'), 'con');
    await openWorkspaces(folder, { logger });
    expect(await staged()).toEqual([]);
  });
});
