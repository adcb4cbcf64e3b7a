// The program that runs programs, on this host's own kernel.
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { runnerPid, runProgram, startRunner } from './host-programs.ts';

const root = await mkdtemp(join(tmpdir(), 'switchyard-runner-'));
afterAll(() => rm(root, { recursive: true, force: true }));

const warnings: string[] = [];
const logger = { info: () => {}, warn: (_fields: object, message: string) => void warnings.push(message) };
const start = (directory = join(root, 'programs')) =>
  startRunner({ directory, docker: new Docker(), builderImage: IMAGE }, logger);
const shell = (script: string, ...args: string[]) => runProgram('sh', ['-c', script, 'sh', ...args]);

test('before it is started, and where it cannot be compiled, this process runs programs itself', async () => {
  await start('/dev/null/programs');
  expect(warnings).toEqual(['no program that runs programs: the agent stands still while one is started']);
  expect(runnerPid()).toBeUndefined();
  await shell('echo itself > "$1"', join(root, 'itself'));
  expect(await readFile(join(root, 'itself'), 'utf8')).toBe('itself\n');
  await expect(shell('echo why >&2; exit 3')).rejects.toThrow('why');
});

describe('when it runs', () => {
  beforeEach(() => start());

  test('arguments arrive as they are, and stdin is empty', async () => {
    const path = join(root, 'arguments');
    const odd = ['', 'to here\n, "and"  Ünïcode', '*', '$HOME'];
    await shell('cat; out="$1"; shift; printf "%s|" "$@" > "$out"', path, ...odd);
    expect(await readFile(path, 'utf8')).toBe(`${odd.join('|')}|`);
  });

  test('what fails says how it ended, and what it said', async () => {
    await expect(shell('echo out; echo why >&2; exit 3')).rejects.toThrow(/ended with 3: out\nwhy$/);
    await expect(shell('kill -KILL $$')).rejects.toThrow('was ended by signal 9');
    await expect(runProgram('/no/such/program', [])).rejects.toThrow('No such file or directory');
  });

  test('of much that it says the beginning is kept', async () => {
    const failed = await shell('yes | head -c 1000000; exit 1').catch((error: Error) => error.message);
    expect(failed).toMatch(/ended with 1: (y\n)+y$/);
    expect(failed?.length).toBeLessThan(5_000);
  });

  test('many at once: each is told how its own went', async () => {
    const codes = Array.from({ length: 40 }, (_, n) => n);
    const ended = await Promise.allSettled(codes.map((code) => shell(`echo of ${code}; exit ${code}`)));
    for (const code of codes)
      if (code === 0) expect(ended[code]).toMatchObject({ status: 'fulfilled' });
      else
        expect((ended[code] as PromiseRejectedResult).reason.message).toContain(
          `ended with ${code}: of ${code}`,
        );
  });

  test('one that takes too long is ended with what it has started; another is not kept waiting', async () => {
    const pid = join(root, 'pid');
    const late = runProgram('sh', ['-c', `sleep 300 & echo $! > '${pid}'; wait`], { timeout: 2_000 });
    const ended = expect(late).rejects.toThrow('was ended by signal 9');
    await shell('true');
    await ended;
    const sleeper = (await readFile(pid, 'utf8')).trim();
    await expect.poll(() => isThere(sleeper), { timeout: 30_000 }).toBe(false);
  });

  test('neither SIGTERM nor SIGINT ends it; what it runs has the weight of any process', async () => {
    const pid = runnerPid()!;
    await shell('true'); // it has said what it takes no notice of
    process.kill(pid, 'SIGTERM');
    process.kill(pid, 'SIGINT');
    const nice = join(root, 'nice');
    await shell('ps -o ni= -p $$ > "$1"', nice);
    expect((await readFile(nice, 'utf8')).trim()).toBe('0');
    expect(runnerPid()).toBe(pid);
  });

  test('killed, it fails what it was asked for, and the next is run without it until it is started again', async () => {
    const pid = runnerPid()!;
    const waiting = expect(shell('sleep 300')).rejects.toThrow('the program that runs programs has ended');
    process.kill(pid, 'SIGKILL');
    await waiting;
    expect(runnerPid()).toBeUndefined();
    await shell('true');
    await start();
    expect(runnerPid()).not.toBe(pid);
    await shell('true');
  });
});

function isThere(pid: string): Promise<boolean> {
  return access(`/proc/${pid}`).then(
    () => true,
    () => false,
  );
}
