// Guarantees for a command in a computer, and limits that it cannot escape. All tests share one computer, which must
// stay healthy after each of them.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Container } from './container.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

/** Immediate output of a command has arrived by then, even on a busy machine. */
const SAY_MS = 10_000;
const SIGKILL = 9;
const SIGTERM = 15;

let testHost: TestHost;
let id: string;
let computer: Container;

beforeAll(async () => {
  testHost = await openTestHost();
  ({ id, computer } = await testHost.createComputer());
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close());

const text = async (command: string) => (await run(computer, command)).output.toString();
/** Processes whose command line contains the mark, except the querying shell. */
const countProcesses = async (mark: string) =>
  Number(await text(`pgrep -fc '[${mark[0]}]${mark.slice(1)}' || true`));

test('stdout and stderr come merged, in the order written', async () => {
  const script = 'for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done';
  const expected = [1, 2, 3, 4, 5].map((i) => `out ${i}\nerr ${i}\n`).join('');
  expect(await text(script)).toBe(expected);
});

test('a command runs in bash, from /workspace, as root, in a session of its own', async () => {
  expect(
    await text(
      '[ -n "$BASH_VERSION" ] && echo $0 $BASH $(readlink /proc/$$/exe); pwd; id -u; [ "$(ps -o sid= $$)" -eq $$ ] && echo leader',
    ),
  ).toBe('bash /usr/bin/bash /usr/bin/bash-static\n/workspace\n0\nleader\n');
});

test('exit codes are those of the command', async () => {
  for (const code of [0, 1, 7, 126, 127, 255]) {
    expect(await run(computer, `exit ${code}`)).toMatchObject({
      exitCode: code,
      timedOut: false,
    });
  }
});

test('a command that a signal ends says which', async () => {
  expect(await run(computer, 'kill -TERM $$')).toMatchObject({ exitCode: 128 + SIGTERM });
  expect(await run(computer, 'kill -KILL $$')).toMatchObject({ exitCode: 128 + SIGKILL });
});

test('every byte passes as it is, in both directions', async () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const stdin = Buffer.concat(Array.from({ length: 1000 }, () => all));
  const { output } = await run(computer, 'cat', { stdin });
  expect(output.equals(stdin)).toBe(true);
});

test('4 MiB of stdin reach a command that reads slowly, and one that does not read at all does not hang', async () => {
  const stdin = Buffer.alloc(4 * 1024 * 1024, 'x');
  expect((await run(computer, 'sleep 0.2; wc -c', { stdin })).output.toString().trim()).toBe(
    String(stdin.length),
  );
  expect(await run(computer, 'exit 3', { stdin })).toMatchObject({ exitCode: 3 });
});

test('without stdin a command reads nothing', async () => {
  expect(await text('cat; echo end')).toBe('end\n');
});

test('an environment that is too long is refused, and the computer is unaffected', async () => {
  // Around the frame's own limit: above it, the init closes the connection, which would end the computer.
  for (const bytes of [1 << 20, (8 << 20) - 40, 8 << 20, 9 << 20])
    await expect(run(computer, 'true', { env: { A: 'x'.repeat(bytes) } })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'env',
    });
  expect(await text('echo here')).toBe('here\n');
});

test('env is added to the environment of the image, cwd is where it runs', async () => {
  const { output } = await run(computer, 'echo "$A|$PIP_BREAK_SYSTEM_PACKAGES|$HOME|$PWD"', {
    env: { A: 'a b\n"c"', HOME: '/tmp' },
    cwd: '/usr/share',
  });
  expect(output.toString()).toBe('a b\n"c"|1|/tmp|/usr/share\n');
});

test('a relative cwd starts at /workspace', async () => {
  await run(computer, 'mkdir -p deep/er');
  expect((await run(computer, 'pwd', { cwd: 'deep/er' })).output.toString()).toBe('/workspace/deep/er\n');
});

test('a missing cwd is the caller’s error, not an exit code', async () => {
  await expect(run(computer, 'true', { cwd: '/no/such' })).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'cwd',
  });
});

test('a command of 65,536 bytes runs', async () => {
  const command = `echo ${'x'.repeat(65_536 - 5)}`;
  expect((await run(computer, command)).outputBytes).toBe(65_536 - 4);
});

test('output over the limit is cut, and counted to its end', async () => {
  const result = await run(computer, 'head -c 200000000 /dev/zero', { outputBytesMax: 1000 });
  expect(result).toMatchObject({ truncated: true, outputBytes: 200_000_000, exitCode: 0 });
  expect(result.output.length).toBe(1000);
  const exact = await run(computer, 'printf 12345', { outputBytesMax: 5 });
  expect(exact).toMatchObject({ truncated: false, outputBytes: 5 });
});

test('a flood in small pieces does not wake the init for each, but twice a millisecond at most', async () => {
  const wakes = async () =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(await text('cat /proc/1/status'))?.[1]);
  const before = await wakes();
  const flood = await run(computer, `python3 -c 'import os\nfor n in range(200_000): os.write(1, b"x")'`);
  expect(flood).toMatchObject({ outputBytes: 200_000, exitCode: 0 });
  const wakesOfOthers = 200;
  expect((await wakes()) - before).toBeLessThan(2 * flood.durationMs + wakesOfOthers);
});

test('all of 16 MiB of output arrives', async () => {
  const result = await run(computer, 'head -c 16777216 /dev/zero | tr "\\0" z', {
    outputBytesMax: 16 * 1024 * 1024,
  });
  expect(result.output.equals(Buffer.alloc(16 * 1024 * 1024, 'z'))).toBe(true);
});

test('output streams while the command runs', async () => {
  const pieces: string[] = [];
  const first = Promise.withResolvers<void>();
  const running = run(computer, 'mkfifo gate; echo first; read line < gate; echo $line', {
    consume: (chunk) => {
      pieces.push(chunk.toString());
      first.resolve();
    },
  });
  await first.promise;
  expect(pieces.join('')).toBe('first\n');
  await run(computer, 'echo second > gate');
  await running;
  expect(pieces.join('')).toBe('first\nsecond\n');
});

test('output so far is in the result of a command that times out', async () => {
  const result = await run(computer, 'echo so far; sleep 60; echo never', { timeoutMs: SAY_MS });
  expect(result).toMatchObject({ timedOut: true, cancelled: false });
  expect(result.output.toString()).toBe('so far\n');
  expect(result.durationMs).toBeGreaterThanOrEqual(SAY_MS);
  expect(result.durationMs).toBeLessThan(60_000);
});

test('a timeout kills what setsid, a double fork, nohup and a trapped SIGTERM would hide', async () => {
  const hideouts = [
    'setsid sleep 4711 &',
    '(setsid sh -c "sleep 4711 & sleep 4711" & )',
    'nohup setsid sleep 4711 >/dev/null 2>&1 &',
    `(trap '' TERM HUP INT; while :; do sleep 4711; done) &`,
    `python3 -c 'import os,time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execvp("sleep", ["sleep", "4711"])'`,
  ];
  const result = await run(computer, `trap '' TERM\n${hideouts.join('\n')}\nsleep 4711`, {
    timeoutMs: 1_000,
  });
  expect(result.timedOut).toBe(true);
  expect(await countProcesses('sleep 4711')).toBe(0);
});

test('a timeout contains a fork bomb, and the computer works after it', async () => {
  const result = await run(computer, 'bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 1_000 });
  expect(result.timedOut).toBe(true);
  expect(await text('ps ax | wc -l')).toSatisfy((count: string) => Number(count) < 10);
});

test('a command that stops its watcher, and every other process, still ends at its timeout', async () => {
  const result = await run(computer, 'kill -STOP $PPID; sleep 4712', { timeoutMs: 500 });
  expect(result.timedOut).toBe(true);
  expect(await countProcesses('sleep 4712')).toBe(0);
});

test('a command that kills its watcher still has its true exit code, and its timeout', async () => {
  expect(await run(computer, 'kill -9 $PPID; echo on; exit 5')).toMatchObject({ exitCode: 5 });
  const result = await run(computer, 'kill -9 $PPID; sleep 4713 & sleep 4713', { timeoutMs: 500 });
  expect(result.timedOut).toBe(true);
  expect(await countProcesses('sleep 4713')).toBe(0);
});

test('kill -9 -1 leaves the init alive, and only that', async () => {
  await text('setsid sleep 4714 >/dev/null 2>&1 &');
  // It kills the command's supervisor too, at once or after a while: the init has the command's own exit code then.
  for (const before of ['', 'true; ', 'sleep 0.05; '])
    for (let time = 0; time < 10; time++)
      expect(await run(computer, `${before}kill -9 -1; exit 6`)).toMatchObject({ exitCode: 6 });
  expect(await countProcesses('sleep 4714')).toBe(0);
  expect(await text('kill -9 1; kill -TERM 1; echo still here')).toBe('still here\n');
});

test('a cancelled exec ends with its whole tree, and no other does', async () => {
  const cancel = new AbortController();
  const started = Promise.withResolvers<void>();
  const other = run(computer, 'read -t 1 < <(sleep 1); echo other done');
  const cancelled = run(computer, 'setsid sleep 4715 & echo up; sleep 4715', {
    signal: cancel.signal,
    consume: () => started.resolve(),
  });
  await started.promise;
  cancel.abort();
  expect(await cancelled).toMatchObject({ cancelled: true, timedOut: false });
  expect(await countProcesses('sleep 4715')).toBe(0);
  expect((await other).output.toString()).toBe('other done\n');
  const before = run(computer, 'sleep 4715', { signal: AbortSignal.abort() });
  expect(await before).toMatchObject({ cancelled: true });
});

test('a background process outlives its command, does not delay it, and may go on writing', async () => {
  const script =
    'mkfifo /tmp/go; (read x < /tmp/go; for i in $(seq 100000); do echo noise; done; echo $? > after) & echo up';
  const result = await run(computer, script);
  expect(result).toMatchObject({ exitCode: 0 });
  expect(result.output.toString()).toBe('up\n');
  // Were its pipe closed, SIGPIPE would end it before it writes the file.
  const after = await run(computer, 'echo > /tmp/go; until [ -s after ]; do sleep 0.02; done; cat after');
  expect(after.output.toString()).toBe('0\n');
});

test('a background process that floods its output does not keep the computer busy', async () => {
  await run(computer, 'yes & echo $! > /tmp/yes.pid');
  expect(await text('echo quick')).toBe('quick\n');
  expect(await run(computer, 'kill $(cat /tmp/yes.pid)')).toMatchObject({ exitCode: 0 });
});

test('no zombie is left of processes without a waiting parent', async () => {
  await run(computer, 'for i in $(seq 20); do (setsid true &); done; sleep 0.1');
  // A process that just ended is a zombie for a moment; an unreaped one would stay.
  await expect.poll(() => text("ps axo stat= | grep -c '^Z' || true")).toBe('0\n');
});

test('a hundred commands at once each get their own result', async () => {
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, i) => run(computer, `sleep 0.05; echo ${i}; exit ${i}`)),
  );
  for (const [i, result] of results.entries()) {
    expect(result).toMatchObject({ exitCode: i });
    expect(result.output.toString()).toBe(`${i}\n`);
  }
});

test('128 commands run at once; the next one is refused with a code, and those go on', async () => {
  await run(computer, 'mkfifo go');
  const go = await open(join(testHost.host.workspaces.path(id), 'go'), 'r+');
  const running = Array.from({ length: 128 }, () => run(computer, 'exec head -c 1 go')); // takes one byte
  await expect(run(computer, 'true')).rejects.toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
  await go.write('.'.repeat(running.length));
  for (const result of await Promise.all(running)) expect(result).toMatchObject({ exitCode: 0 });
  await go.close();
  expect(await text('echo free again')).toBe('free again\n');
});

test('commands that cannot start at the process limit fail without an invented exit code', async () => {
  const cancel = new AbortController();
  const up = Promise.withResolvers<void>();
  const forkUntilRefused = `import os, time
try:
  while True:
    if os.fork() == 0: time.sleep(60)
except OSError:
  print('full', flush=True)
time.sleep(60)`;
  const hog = run(computer, 'python3 -', {
    stdin: Buffer.from(forkUntilRefused),
    signal: cancel.signal,
    consume: () => up.resolve(),
  });
  await up.promise;
  const outcome = await run(computer, 'exit 0').then(
    (result) => result.exitCode,
    (error) => error.code,
  );
  expect(outcome).toBe('computer_failed');
  cancel.abort();
  await hog;
  expect(await text('echo free again')).toBe('free again\n');
});

test('the same id twice runs the command once; the last request gets the result', async () => {
  const command = 'echo ran >> once; until [ -e released ]; do sleep 0.01; done; echo released';
  const first = run(computer, command, { id: 'one-id' });
  const refused = expect(first).rejects.toMatchObject({ details: { reason: 'taken_over' } });
  const second = run(computer, command, { id: 'one-id' });
  await refused;
  await run(computer, 'touch released');
  expect((await second).output.toString()).toBe('released\n');
  expect(await text('cat once')).toBe('ran\n');
});
