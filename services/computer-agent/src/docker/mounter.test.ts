// The program that mounts, on this host's own kernel.
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMounter, type Mounter } from './mounter.ts';
import { mountPoints, unmount } from './mounts.ts';

let root: string;
let mounter: Mounter;
let warnings: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'switchyard-mounter-'));
  warnings = [];
  mounter = createMounter({ info: () => {}, warn: (_fields, message) => warnings.push(message) });
});
afterEach(async () => {
  mounter.close();
  for (const point of await mountPoints()) if (point.startsWith(root)) await unmount(point);
  await rm(root, { recursive: true, force: true });
});

const start = () =>
  mounter.start({ directory: join(root, 'programs'), docker: new Docker(), builderImage: IMAGE });

/** A directory with its own name in a file. */
async function source(name: string): Promise<string> {
  await mkdir(join(root, name));
  await writeFile(join(root, name, 'name'), name);
  return join(root, name);
}
async function point(name: string): Promise<string> {
  await mkdir(join(root, name));
  return join(root, name);
}

test('mounts one directory on another, whatever they are called', async () => {
  await start();
  const at = await point('to here\n, "and"  Ünïcode');
  await mounter.bind(await source("what's in\tit"), at);
  expect(await readFile(join(at, 'name'), 'utf8')).toBe("what's in\tit");
  expect(warnings).toEqual([]);
});

test('many at once: each is told how its own went', async () => {
  await start();
  const names = Array.from({ length: 40 }, (_, n) => String(n));
  const pairs = await Promise.all(
    names.map(async (n) => [
      n,
      n.endsWith('7') ? join(root, 'nowhere', n) : await source(n),
      await point(`at-${n}`),
    ]),
  );
  const results = await Promise.allSettled(pairs.map(([, from, to]) => mounter.bind(from!, to!)));
  for (const [index, [name, , at]] of pairs.entries()) {
    if (name!.endsWith('7')) {
      expect(results[index]).toMatchObject({ status: 'rejected' });
      expect((results[index] as PromiseRejectedResult).reason.message).toBe(
        `${at}: no such file or directory`,
      );
    } else expect(await readFile(join(at!, 'name'), 'utf8')).toBe(name);
  }
});

test('before it is started, and when it was killed: the command of the host does it, and it is said', async () => {
  const [first, second, third] = [await point('1'), await point('2'), await point('3')];
  const from = await source('files');
  await mounter.bind(from, first);
  await start();
  await mounter.bind(from, second);
  process.kill(mounter.pid!, 'SIGKILL');
  await mounter.bind(from, third);
  for (const at of [first, second, third]) expect(await readFile(join(at, 'name'), 'utf8')).toBe('files');
  expect(warnings).toEqual(['the program that mounts has ended: each computer starts a little slower']);
});

test('what it is asked for and dies over is done all the same', async () => {
  await start();
  const pid = mounter.pid!;
  process.kill(pid, 'SIGSTOP');
  const from = await source('files');
  const points = await Promise.all(['1', '2'].map(point));
  const asked = points.map((at) => mounter.bind(from, at));
  process.kill(pid, 'SIGKILL');
  await Promise.all(asked);
  for (const at of points) expect(await readFile(join(at, 'name'), 'utf8')).toBe('files');
});

test('it ends with its agent, and neither SIGTERM nor SIGINT ends it before', async () => {
  await start();
  const pid = mounter.pid!;
  const from = await source('files');
  await mounter.bind(from, await point('1')); // it runs, and has said what it takes no notice of
  process.kill(pid, 'SIGTERM');
  process.kill(pid, 'SIGINT');
  await mounter.bind(from, await point('2'));
  expect(mounter.pid).toBe(pid);
  mounter.close();
  await expect
    .poll(
      () =>
        access(`/proc/${pid}`).then(
          () => 'there',
          () => 'gone',
        ),
      { timeout: 30_000 },
    )
    .toBe('gone');
});

test('where it cannot be compiled, it is said, and the command of the host mounts', async () => {
  await mounter.start({ directory: '/dev/null/programs', docker: new Docker(), builderImage: IMAGE });
  expect(warnings).toEqual(['no program that mounts: each computer starts a little slower']);
  const at = await point('1');
  await mounter.bind(await source('files'), at);
  expect(await readFile(join(at, 'name'), 'utf8')).toBe('files');
});
