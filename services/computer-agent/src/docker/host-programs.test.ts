// Host programs that a resident shell runs, on this host's own kernel.
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runProgram, shellPid } from './host-programs.ts';

const root = await mkdtemp(join(tmpdir(), 'switchyard-programs-'));
afterAll(() => rm(root, { recursive: true, force: true }));

const shell = (script: string, ...args: string[]) => runProgram('sh', ['-c', script, 'sh', ...args]);

test('arguments arrive unchanged, and stdin is empty', async () => {
  const path = join(root, 'arguments');
  const odd = ['', "it's", 'to here\n, "and"  Ünïcode', '*', '$HOME'];
  await shell('cat; out="$1"; shift; printf "%s|" "$@" > "$out"', path, ...odd);
  expect(await readFile(path, 'utf8')).toBe(`${odd.join('|')}|`);
});

test('an error says how the program ended, with its output', async () => {
  await expect(shell('echo out; echo why >&2; exit 3')).rejects.toThrow(/exited with 3: out\nwhy$/);
  await expect(shell('kill -KILL $$')).rejects.toThrow('was ended by signal 9');
  await expect(runProgram('/no/such/program', [])).rejects.toThrow('No such file or directory');
});

test('the beginning of a long output is kept', async () => {
  const failed = await shell('yes | head -c 1000000; exit 1').catch((error: Error) => error.message);
  expect(failed).toMatch(/exited with 1: (y\n)+y$/);
  expect(failed?.length).toBeLessThan(5_000);
});

test('many at once with several lines of output: no answer is lost between those of others', async () => {
  const lines = Array.from({ length: 200 }, (_, n) => n);
  const ended = await Promise.allSettled(
    lines.map((n) => shell(n % 2 === 0 ? `printf 'a\\nb\\nof ${n}\\n'; exit 1` : 'true')),
  );
  for (const n of lines)
    if (n % 2 === 0)
      expect(ended[n]).toMatchObject({ reason: { message: expect.stringContaining(`a\nb\nof ${n}`) } });
    else expect(ended[n]).toMatchObject({ status: 'fulfilled' });
});

test('many at once: each gets its own result', async () => {
  const codes = Array.from({ length: 40 }, (_, n) => n);
  const ended = await Promise.allSettled(codes.map((code) => shell(`echo of ${code}; exit ${code}`)));
  for (const code of codes)
    if (code === 0) expect(ended[code]).toMatchObject({ status: 'fulfilled' });
    else
      expect((ended[code] as PromiseRejectedResult).reason.message).toContain(
        `exited with ${code}: of ${code}`,
      );
});

test('a timeout ends a program with everything that it started, and delays no other', async () => {
  const pid = join(root, 'pid');
  const late = runProgram('sh', ['-c', `sleep 300 & echo $! > '${pid}'; wait`], { timeout: 10_000 });
  const ended = expect(late).rejects.toThrow('was ended by signal 9');
  await shell('true');
  await ended;
  const sleeper = (await readFile(pid, 'utf8')).trim();
  await expect.poll(() => isThere(sleeper)).toBe(false);
});

test('neither SIGTERM nor SIGINT ends the shell; its programs have the priority of this process', async () => {
  const pid = shellPid()!;
  await shell('true'); // the shell has set its traps
  process.kill(pid, 'SIGTERM');
  process.kill(pid, 'SIGINT');
  const nice = join(root, 'nice');
  await shell('ps -o ni= -p $$ > "$1"', nice);
  expect((await readFile(nice, 'utf8')).trim()).toBe(String(getPriority()));
  expect(shellPid()).toBe(pid);
});

test('a killed shell fails the programs that it runs, and the next program starts another one', async () => {
  const pid = shellPid()!;
  const waiting = expect(shell('sleep 300')).rejects.toThrow('was killed');
  process.kill(pid, 'SIGKILL');
  await waiting;
  expect(shellPid()).toBeUndefined();
  await shell('true');
  expect(shellPid()).not.toBe(pid);
});

function isThere(pid: string): Promise<boolean> {
  return access(`/proc/${pid}`).then(
    () => true,
    () => false,
  );
}
