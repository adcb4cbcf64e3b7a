// What root in a computer cannot exhaust. Each bomb runs in one computer of the standard image while a neighbour is
// queried. Afterwards the computer, or at least its removal, works, and the host has its resources back.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { HOST_LIMITS } from '../docker/host-limits.ts';
import { mounts } from '../docker/mounts.ts';
import type { Container } from './container.ts';
import type { ExecOptions, ExecResult } from './exec.ts';
import { Meter } from './meter.ts';
import { openEntry } from './open-entry.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const exec = promisify(execFile);
const MIB = 1024 ** 2;
/** Small disks, which fill quickly. */
const DISK_GB = 1 / 4;
const PIDS_MAX = 512;
/** Ceiling of the computer's memory. */
const MEMORY_MB = 768;
/** A neighbour's answer that takes longer than this counts as blocked by the bomb, even on a busy machine. */
const NEIGHBOUR_ANSWER_MS_MAX = 15_000;
/** Timeout of the command of a bomb that does not end by itself. */
const BOMB_MS = 2_000;
/** Timeout of a bomb that reports its limit and ends by itself, on a busy machine. */
const VERDICT_MS = 60_000;
/** Time for the kernel to release the resources of a bomb. */
const PATIENCE = { timeout: 60_000, interval: 100 };

let testHost: TestHost;
let computer: Container;
let neighbour: Container;
let before: HostResources;
let id: string;
/** Kernel settings that were too low for this test, with their former values. */
const lowLimits = new Map<string, string>();

beforeAll(async () => {
  await raiseHostLimits();
  testHost = await openTestHost({ diskGb: DISK_GB, diskIdleMs: 0, burst: { cpu: 2, memoryMb: MEMORY_MB } });
  neighbour = (await testHost.createComputer()).computer;
  before = await vi.waitFor(hostResources, PATIENCE);
  ({ id, computer } = await testHost.createComputer());
}, SETUP_TIMEOUT_MS);

afterEach(async () => {
  expect(await sh('echo well', neighbour)).toBe('well');
  // Ends leftovers of a bomb.
  await expect.poll(() => sh('kill -9 -1; echo well'), PATIENCE).toBe('well');
  // A killed process frees its kernel memory for seconds. The next bomb's shell would be killed in a full computer.
  await expect.poll(usedMemory, PATIENCE).toBeLessThan((MEMORY_MB / 2) * MIB);
});

afterAll(async () => {
  await testHost?.close();
  for (const [path, value] of lowLimits) await writeFile(path, value);
}, SETUP_TIMEOUT_MS);

/** Prepares this host as docs/deployment.md tells operators to. */
async function raiseHostLimits(): Promise<void> {
  for (const [name, needed] of Object.entries(HOST_LIMITS)) {
    const path = `/proc/sys/${name.replaceAll('.', '/')}`;
    const value = await readFile(path, 'utf8');
    if (Number(value) >= needed) continue;
    lowLimits.set(path, value);
    await writeFile(path, String(needed));
  }
}

const sh = async (command: string, where = computer) => (await run(where, command)).output.toString().trim();

async function usedMemory(): Promise<number> {
  const { memory } = await new Meter(computer.init).measure(testHost.host.workspaces.path(id), new Date());
  return memory.bytes;
}

interface HostResources {
  readonly descriptors: number;
  readonly containers: number;
  readonly mounts: number;
  readonly disks: string[];
  readonly processes: number;
}

/** Resources of this agent on the host: open files, containers, mounts, disks, processes of computers. */
async function hostResources(): Promise<HostResources> {
  const { dataDirectory } = testHost.options;
  const disks = await Promise.all(
    ['disks', 'system'].map((folder) => readdir(join(dataDirectory, folder, 'images'))),
  );
  const { stdout } = await exec('losetup', ['--noheadings', '--output', 'BACK-FILE']);
  expect(stdout.split('\n').filter((line) => line.includes(dataDirectory)).length).toBe(disks.flat().length);
  const containers = await testHost.host.containers();
  const tops = await Promise.all(
    containers.map(({ containerId }) => testHost.options.docker.getContainer(containerId).top()),
  );
  return {
    descriptors: (await readdir('/proc/self/fd')).length,
    containers: containers.length,
    mounts: (await mounts()).filter(({ point }) => point.startsWith(dataDirectory)).length,
    disks: disks.flat(),
    processes: tops.flatMap(({ Processes }) => Processes).length,
  };
}

/** Runs a command that does not end by itself, queries the neighbour meanwhile, and returns the command's result. */
async function explode(command: string, options: Partial<ExecOptions> = {}): Promise<ExecResult> {
  const bomb = run(computer, command, { timeoutMs: BOMB_MS, ...options });
  let ended = false;
  void bomb.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  while (!ended) {
    const asked = performance.now();
    expect(await sh('echo here', neighbour)).toBe('here');
    expect(performance.now() - asked).toBeLessThan(NEIGHBOUR_ANSWER_MS_MAX);
    await delay(100);
  }
  return bomb;
}

/**
 * Like `explode`, for a command that reports something and runs on: ends it `BOMB_MS` after the report. Returns its
 * output.
 */
async function explodeUntilOutput(pattern: RegExp, command: string): Promise<string> {
  const end = new AbortController();
  let output = '';
  const consume = (bytes: Buffer) => {
    output += bytes.toString();
    if (pattern.test(output)) void delay(BOMB_MS).then(() => end.abort());
  };
  const result = await explode(command, {
    timeoutMs: VERDICT_MS,
    signal: end.signal,
    consume,
  });
  expect(result).toMatchObject({ cancelled: true, timedOut: false });
  return output;
}

/** Compiles C in the computer. */
async function compile(name: string, source: string): Promise<void> {
  const { output, exitCode } = await run(computer, `gcc -O1 -w -pthread -o /tmp/${name} -x c -`, {
    stdin: Buffer.from(source),
  });
  expect({ exitCode, output: output.toString() }).toEqual({ exitCode: 0, output: '' });
}

describe('processes', () => {
  test('a fork bomb ends with its command, in shell or in C, even if each process starts its own session', async () => {
    expect(await explode('bomb() { bomb | bomb & }; bomb; sleep 60')).toMatchObject({ timedOut: true });
    await compile('bomb', 'int main() { for (;;) { if (fork() == 0) setsid(); } }');
    expect(await explode('/tmp/bomb')).toMatchObject({ timedOut: true });
    expect(Number(await sh('ps ax | wc -l'))).toBeLessThan(10);
  });

  test('threads count as processes', async () => {
    await compile(
      'threads',
      `#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void *wait_for_ever(void *x) { pause(); return x; }
int main() { int n = 0; pthread_t t; pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 16384);
  while (!pthread_create(&t, &a, wait_for_ever, 0)) n++;
  printf("%d", n); fflush(stdout); pause(); }`,
    );
    const threads = Number(await explodeUntilOutput(/\d/, '/tmp/threads'));
    expect(threads).toBeGreaterThan(PIDS_MAX / 2);
    expect(threads).toBeLessThan(PIDS_MAX);
  });

  test('unreaped zombies end with their parent', async () => {
    const zombies = `python3 -c 'import os, time
try:
  while True:
    if os.fork() == 0: os._exit(0)
except OSError: print("full", flush=True)
time.sleep(60)'`;
    await explodeUntilOutput(/full/, zombies);
    // The process that watched the command is itself a zombie for a moment.
    await expect.poll(() => sh("ps axo stat= | grep -c '^Z' || true"), PATIENCE).toBe('0');
  });

  test('a storm of signals, to the init, its watchers and itself, queued ones included, ends with its command', async () => {
    // Excludes SIGTERM to the init: once its signal queue is full, the kernel drops the sender, and SIGTERM looks as
    // if it came from the engine. So root inside can stop its own computer (docs/computers.md).
    await compile(
      'storm',
      `#include <signal.h>
#include <unistd.h>
int main() {
  union sigval v = {1}; sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); fork(); fork();
  for (;;) for (int n = 1; n < 65; n++) {
    if (n == SIGKILL || n == SIGSTOP || n == 32 || n == 33) continue;
    if (n != SIGTERM) sigqueue(1, n, v);
    sigqueue(getppid(), n, v); sigqueue(getpid(), n, v); kill(1, n);
  }
}`,
    );
    expect(await explode('exec /tmp/storm')).toMatchObject({ timedOut: true });
  });

  test('processes that wait in the kernel (vfork) are killed too', async () => {
    await compile(
      'vforks',
      '#include <unistd.h>\nint main() { for (int n = 0; n < 100; n++) if (fork() == 0) { if (vfork() == 0) for (;;) pause(); _exit(0); } pause(); }',
    );
    expect(await explode('/tmp/vforks')).toMatchObject({ timedOut: true });
    expect(await sh('ps axo stat=,comm= | grep -c vforks || true')).toBe('0');
  });
});

describe('memory', () => {
  test('of one process, of many, of /dev/shm and of pipes: a process dies, not the computer', async () => {
    const killed = await explode('python3 -c "x = bytearray(4 << 30)"; echo $?', { timeoutMs: VERDICT_MS });
    expect(killed.output.toString()).toContain('137');
    await explode(
      "for i in $(seq 40); do python3 -c 'x = bytearray(64 << 20); import time; time.sleep(60)' & done; wait",
    );
    const full = await explode('head -c 200M /dev/zero > /dev/shm/x; echo $?; rm -f /dev/shm/x', {
      timeoutMs: VERDICT_MS,
    });
    expect(full.output.toString()).toContain('No space left on device');
    await explode(`python3 -c 'import fcntl, os, time
for n in range(5000):
  r, w = os.pipe(); os.set_blocking(w, False)
  try: fcntl.fcntl(w, 1031, 1 << 20)
  except OSError: pass
  try:
    while True: os.write(w, bytes(65536))
  except BlockingIOError: pass
time.sleep(60)'`);
  });

  test('of the kernel: open files and watches count as the computer’s own memory', async () => {
    // The kernel counts these per host or per user; `raiseHostLimits` above has raised the host's limits.
    await compile(
      'watches',
      `#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <stdio.h>
#include <unistd.h>
#include <time.h>
#include <signal.h>
int main() { struct epoll_event e = {1}; long n = 0, i = 0; int files[2000]; timer_t t;
  for (int f = 0; f < 2000; f++) files[f] = eventfd(0, 0);
  while (inotify_init() >= 0 && i < 2000) i++;
  for (int p = 0; p < 3000; p++) { int poll = epoll_create1(0); if (poll < 0) break; for (int f = 0; f < 2000; f++) n += !epoll_ctl(poll, 1, files[f], &e); }
  printf("%ld %ld", i, n); fflush(stdout); pause(); }`,
    );
    const watchOnHost = async () =>
      (
        await exec(process.execPath, [
          '-e',
          'require("node:fs").watch("/tmp", () => {}).close(); console.log("watched")',
        ])
      ).stdout;
    const bomb = explode('for n in 1 2 3; do /tmp/watches & done; wait', { timeoutMs: 6_000 });
    for (let tries = 0; tries < 5; tries++) {
      expect(await watchOnHost()).toBe('watched\n');
      expect(
        await sh(`python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init() >= 0)'`, neighbour),
      ).toBe('True');
      await delay(500);
    }
    await bomb;
  });
});

describe('files', () => {
  test('open ones: at the limit the process is refused; the host and the neighbour are not affected', async () => {
    const all = `python3 -c 'import os, resource, time
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
n = 0
try:
  while True: os.open("/dev/null", os.O_RDONLY); n += 1
except OSError as e: print(e.strerror, flush=True)
time.sleep(60)'`;
    await explodeUntilOutput(/Too many open files|Killed/, `for n in $(seq 60); do ${all} & done; wait`);
    const [, , max] = (await readFile('/proc/sys/fs/file-nr', 'utf8')).split('\t').map(Number);
    expect(max).toBeGreaterThanOrEqual(2 ** 31 - 1);
  });

  test.each([
    ['/workspace', 'bytes at once', 'fallocate -l 100G /workspace/big'],
    ['/workspace', 'bytes', 'dd if=/dev/zero of=/workspace/big bs=1M'],
    ['/', 'bytes at once', 'fallocate -l 100G /big'],
    ['/', 'bytes', 'dd if=/dev/zero of=/var/big bs=1M'],
    ['/etc/hosts', 'bytes', 'dd if=/dev/zero of=/etc/hosts bs=1M'],
    ['/etc/resolv.conf', 'bytes', 'dd if=/dev/zero of=/etc/resolv.conf oflag=append conv=notrunc bs=1M'],
    ['/sys/fs/cgroup', 'bytes', 'dd if=/dev/zero of=/sys/fs/cgroup/big bs=1M count=4000'],
  ])('%s, filled with %s, is full for this computer only', async (_, __, command) => {
    const images = async () => {
      let bytes = 0;
      for (const folder of ['disks', 'system'])
        for (const name of await readdir(join(testHost.options.dataDirectory, folder, 'images')))
          bytes += (await stat(join(testHost.options.dataDirectory, folder, 'images', name))).blocks * 512;
      return bytes;
    };
    const docker = (await testHost.options.docker.info()) as { DockerRootDir: string };
    const free = async () => {
      const { bavail, bsize } = await statfs(docker.DockerRootDir);
      return bavail * bsize;
    };
    const freeBefore = await free();
    const { output } = await explode(`cp /etc/hosts /etc/resolv.conf /tmp/; ${command} 2>&1; echo end`, {
      timeoutMs: VERDICT_MS,
    });
    expect(output.toString()).toMatch(
      /No space left on device|Killed|Cannot allocate memory|File too large|Read-only file system/,
    );
    expect(await images()).toBeLessThanOrEqual(4 * DISK_GB * 1024 * MIB);
    // Others write to this disk as well; a bomb that got out would fill it.
    expect(await free()).toBeGreaterThan(freeBefore / 2);
    expect(await sh('head -c 100000 /dev/zero > mine && stat -c %s mine', neighbour)).toBe('100000');
    expect(await sh('head -c 100000 /dev/zero > /var/mine && stat -c %s /var/mine', neighbour)).toBe(
      '100000',
    );
    await sh(
      'rm -f /workspace/big /big /var/big /sys/fs/cgroup/big; cat /tmp/hosts > /etc/hosts; cat /tmp/resolv.conf > /etc/resolv.conf; true',
    );
    expect(
      await sh('echo again > /workspace/file && echo again > /var/file && cat /workspace/file /var/file'),
    ).toBe('again\nagain');
  });

  test('a sparse file of maximum size can be opened', async () => {
    await sh('truncate -s 2T /workspace/sparse');
    const entry = await openEntry(testHost.host.workspaces.path(id), ['sparse']);
    expect(entry).toMatchObject({ kind: 'file', bytes: 2 * 1024 ** 4 });
    await entry.handle.close();
    await sh('rm /workspace/sparse');
  });

  test.each(['/workspace', '/var'])(
    '%s, filled with files, is full for this computer only',
    async (folder) => {
      const bomb = `mkdir -p ${folder}/many && cd ${folder}/many && python3 -c 'import os
n = 0
try:
  while True: os.close(os.open(f"f{n}", os.O_CREAT)); n += 1
except OSError as e: print(e.strerror)'`;
      const { output } = await explode(bomb, { timeoutMs: VERDICT_MS });
      expect(output.toString()).toBe('No space left on device\n');
      expect(await sh('touch another /var/another && ls another', neighbour)).toBe('another');
      await run(computer, `rm -rf ${folder}/many`, { timeoutMs: 60_000 });
    },
  );

  test('endlessly nested folders do not block the neighbour', async () => {
    const { output } = await explode(
      `python3 -c 'import os
os.chdir("/workspace")
try:
  for n in range(20000): os.mkdir("d" * 200); os.chdir("d" * 200)
except OSError as e: print(e.strerror)
print("end")'`,
      { timeoutMs: VERDICT_MS },
    );
    expect(output.toString()).toContain('end');
  });
});

test('terminals: at its limit the computer gets no more, and the neighbour gets one', async () => {
  const all = `python3 -c 'import os, time
n = 0
try:
  while n < 3070: os.open("/dev/ptmx", os.O_RDWR); n += 1
except OSError: pass
print(n, flush=True)
time.sleep(60)'`;
  const opened = Promise.withResolvers<string>();
  const end = new AbortController();
  const bomb = run(computer, all, { signal: end.signal, consume: (bytes) => opened.resolve(`${bytes}`) });
  expect(await opened.promise).toBe('128\n');
  const terminal = await neighbour.init.openStream({ kind: 'terminal', columns: 80, rows: 24 }, end.signal);
  terminal.destroy();
  end.abort();
  await bomb;
});

test.each([
  [
    'TCP',
    `s = socket.create_server(("127.0.0.1", 7000))
for n in range(128):
  c = socket.create_connection(("127.0.0.1", 7000)); kept += [c, s.accept()[0]]; c.setblocking(False)
  try:
    while held < 256 << 20: held += c.send(bytes(65536))
  except BlockingIOError: pass`,
  ],
  [
    'UDP',
    `for n in range(1000):
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); s.setblocking(False); kept.append(s)
  c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  for n in range(8): c.sendto(bytes(32768), s.getsockname())
for s in kept:
  try:
    while True: held += len(s.recv(65536))
  except BlockingIOError: pass`,
  ],
])('the host’s buffers for %s: unread data takes at most 64 MiB', async (_, hold) => {
  const all = `python3 -c 'import socket
kept = []; held = 0
${hold}
print(held >> 20)'`;
  const held = Number(await sh(all));
  expect(held).toBeGreaterThan(16);
  expect(held).toBeLessThan(72);
});

describe('floods', () => {
  test('of output, from a command and from the processes it leaves behind', async () => {
    const flood = await explode('yes & yes & cat /dev/zero', { outputBytesMax: 1_000 });
    expect(flood.truncated).toBe(true);
    expect(flood.output.length).toBe(1_000);
    await explode('for n in $(seq 50); do (setsid yes &) ; done; sleep 1');
    await sh('pkill yes; true');
  });

  test('of unread input, fifty times', async () => {
    const stdin = Buffer.alloc(4 * MIB, 'x');
    const results = await Promise.all(
      Array.from({ length: 50 }, () =>
        run(computer, 'sleep 2', { stdin }).then(
          ({ exitCode }) => exitCode,
          ({ code }) => code,
        ),
      ),
    );
    for (const result of results) expect([0, 137, 'computer_failed']).toContain(result);
  });

  test('of an unread terminal, and of connections to a port that are never closed', async () => {
    const server = `python3 -c 'import socket, threading
s = socket.create_server(("127.0.0.1", 7070), backlog=512); print("up", flush=True); kept = []
def flood(c):
  try:
    while True: c.sendall(bytes(65536))
  except OSError: pass
while True: c, _ = s.accept(); kept.append(c); threading.Thread(target=flood, args=(c,), daemon=True).start()'`;
    const up = Promise.withResolvers<void>();
    const serving = run(computer, server, { timeoutMs: VERDICT_MS, consume: () => up.resolve() });
    await up.promise;
    const { signal } = new AbortController();
    const opened = await Promise.allSettled([
      ...Array.from({ length: 200 }, () => computer.init.openStream({ kind: 'port', port: 7070 }, signal)),
      computer.init.openStream({ kind: 'terminal', columns: 80, rows: 24 }, signal),
    ]);
    const streams = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(streams.length).toBe(128);
    expect(await sh('echo here', neighbour)).toBe('here');
    expect(await sh('echo here')).toBe('here');
    for (const stream of streams) stream.destroy();
    await sh('pkill -f 7070; true');
    await serving;
  });

  test('of connections to the outside: the host’s table of connections is not filled', async () => {
    const tracked = async () => Number(await readFile('/proc/sys/net/netfilter/nf_conntrack_count', 'utf8'));
    const already = await tracked();
    // TEST-NET-3: not routed, and like the internet for the host's connection table.
    await explode(
      `python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(200000):
  try: s.sendto(b"x", (f"203.0.113.{n % 250}", 1024 + n % 60000))
  except OSError: pass'`,
      { timeoutMs: 5_000 },
    );
    expect((await tracked()) - already).toBeLessThan(10_000);
    expect(
      await sh('getent hosts "$(npm config get registry | cut -d/ -f3)" >/dev/null && echo found', neighbour),
    ).toBe('found');
  });
});

test('when the computer is removed during a bomb, the host has its resources back', async () => {
  const bomb = run(computer, 'bomb() { bomb | bomb & }; bomb; (dd if=/dev/zero of=/var/big bs=1M &); yes', {
    timeoutMs: 60_000,
  });
  const outcome = bomb.then(
    () => 'ended',
    ({ code }) => code,
  );
  await once(AbortSignal.timeout(1_000), 'abort');
  await computer.stop();
  expect(['ended', 'computer_failed']).toContain(await outcome);
  await testHost.host.workspaces.delete(id);
  const withoutDescriptors = ({ descriptors: _, ...rest }: HostResources) => ({
    ...rest,
    disks: rest.disks.toSorted(),
  });
  await expect
    .poll(async () => withoutDescriptors(await hostResources()), PATIENCE)
    .toEqual(withoutDescriptors(before));
  // A connection to the engine stays open for a while.
  const descriptors = async () => (await hostResources()).descriptors;
  await expect.poll(descriptors, PATIENCE).toBeLessThanOrEqual(before.descriptors + 2);
  ({ id, computer } = await testHost.createComputer());
});
