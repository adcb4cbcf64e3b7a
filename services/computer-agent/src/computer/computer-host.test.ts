// Computers as a whole: files, limits, isolation, and how they end.
import { execFile } from 'node:child_process';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { IMAGE } from '@switchyard/sandbox-computer';
import { makeLogger } from '@switchyard/service';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openHeldEngine } from '../__fixtures__/held-engine.ts';
import { mountPoints } from '../docker/mounts.ts';
import { networkName } from '../docker/network.ts';
import { openComputerHost } from './open-computer-host.ts';
import type { Reservation } from './reservations.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const exec = promisify(execFile);
const MIB = 1024 * 1024;
/** What comes to its end by itself, in time even on a busy machine. */
const PATIENCE_S = 60;

let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost({ warmPool: 2 });
  await testHost.host.poolFilled();
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close(), SETUP_TIMEOUT_MS);

const size = { cpu: 1, memoryMb: 1024 };

async function pooledContainers(): Promise<Set<string>> {
  const containers = await testHost.host.containers();
  return new Set(containers.filter(({ pooled }) => pooled).map(({ containerId }) => containerId));
}

describe('/workspace', () => {
  test('its files outlive a stop and a start, whether the container was pooled or new', async () => {
    const { host } = testHost;
    const id = 'cmp_files';
    await host.workspaces.create(id);
    const pooled = await pooledContainers();
    const seen: boolean[] = [];
    for (const [run_, expected] of [
      [1, '1\n'],
      [2, '1\n2\n'],
      [3, '1\n2\n3\n'],
      [4, '1\n2\n3\n4\n'],
    ] as const) {
      // Twice from the pool, then from scratch, as for another image: all that wait are claimed.
      if (run_ === 1) await host.poolFilled();
      const reservation = await host.reserve({ computerId: id, image: IMAGE, ...size });
      seen.push(pooled.has(reservation.containerId));
      const computer = await reservation.start();
      const { output } = await run(computer, `echo ${run_} >> file; cat file`);
      expect(output.toString()).toBe(expected);
      await computer.stop();
    }
    expect(seen).toContain(true);
    await host.workspaces.delete(id);
    expect(await host.workspaces.exists(id)).toBe(false);
    await host.workspaces.create(id);
    const fresh = await (await host.reserve({ computerId: id, image: IMAGE, ...size })).start();
    expect((await run(fresh, 'ls -A')).output.toString()).toBe('');
  });

  test('no computer sees the files of another', async () => {
    const [one, two] = await Promise.all([testHost.createComputer(), testHost.createComputer()]);
    await run(one.computer, 'echo secret > mine');
    const { output } = await run(two.computer, 'ls -A; find / -name mine -not -path "/proc/*" 2>/dev/null');
    expect(output.toString()).toBe('');
  });

  test('a deleted workspace with files of every kind is gone from the host', async () => {
    const { id, computer } = await testHost.createComputer();
    await run(
      computer,
      'mkdir -p a/b; touch a/b/c; ln -s / link; mkfifo pipe; chmod 000 a; chattr +i a 2>/dev/null; true',
    );
    await computer.stop();
    await testHost.host.workspaces.delete(id);
    expect(await testHost.host.workspaces.exists(id)).toBe(false);
  });

  test('only ids become paths', () => {
    for (const id of ['..', 'a/b', '', 'x'.repeat(65)])
      expect(() => testHost.host.workspaces.path(id)).toThrow(TypeError);
  });
});

describe('limits', () => {
  test.each([
    ['claimed', true],
    ['made', false],
  ])('a %s computer has its size guaranteed and the burst as its ceiling', async (_, warm) => {
    const { host, options } = testHost;
    const asked = { cpu: 0.25, memoryMb: 512 };
    const id = `cmp_size_${warm}`;
    await host.workspaces.create(id);
    if (warm) await host.poolFilled();
    const pooled = await pooledContainers();
    let reservation = await host.reserve({ computerId: id, image: IMAGE, ...asked });
    // Discarded only afterwards: otherwise the pool would refill as containers are taken.
    const others: Reservation[] = [];
    while (pooled.has(reservation.containerId) !== warm) {
      others.push(reservation);
      reservation = await host.reserve({ computerId: id, image: IMAGE, ...asked });
    }
    for (const other of others) await other.discard();
    await reservation.start();
    const { HostConfig } = await options.docker.getContainer(reservation.containerId).inspect();
    expect(HostConfig).toMatchObject({
      CpuShares: 256,
      MemoryReservation: 512 * MIB,
      CpuQuota: 400_000,
      Memory: 2048 * MIB,
      MemorySwap: 2048 * MIB,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 512,
      Privileged: false,
      LogConfig: { Type: 'none' },
    });
    expect(HostConfig.Binds ?? []).toEqual([]);
  });

  test('over the memory ceiling the command dies, the computer lives', async () => {
    const { computer } = await testHost.createComputer();
    const greedy = await run(computer, 'python3 -c "x = bytearray(4 << 30); print(len(x))"; echo $?', {
      timeoutMs: PATIENCE_S * 1_000,
    });
    expect(greedy.output.toString()).toContain('137');
    expect((await run(computer, 'echo alive')).output.toString()).toBe('alive\n');
  });
});

describe('walls', () => {
  test('a computer reaches name servers and the internet, not the host, not another computer, not private networks', async () => {
    const [one, two] = await Promise.all([testHost.createComputer(), testHost.createComputer()]);
    const server = createServer((_, response) => response.end('the host'));
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const port = (server.address() as { port: number }).port;
    const hosts = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address);
    const { output: itsAddress } = await run(two.computer, 'hostname -I');
    await run(
      two.computer,
      '(python3 -m http.server 8000 >/dev/null 2>&1 &); until curl -s -o /dev/null localhost:8000; do sleep 0.05; done',
    );
    try {
      const targets = [
        ...hosts.map((address) => `${address}:${port}`),
        `${itsAddress.toString().trim()}:8000`,
        '169.254.169.254:80',
        '10.0.0.1:80',
      ];
      expect(hosts.length).toBeGreaterThan(1);
      const probe = targets
        .map((target) => `(curl -s -m 2 -o /dev/null http://${target}/; echo "${target} $?") &`)
        .join('\n');
      const { output } = await run(one.computer, `${probe}\nwait`);
      const reached = output
        .toString()
        .trim()
        .split('\n')
        .filter((line) => line.endsWith(' 0'));
      expect(output.toString().trim().split('\n').length).toBe(targets.length);
      expect(reached).toEqual([]);
    } finally {
      server.close();
    }
    const registry = await run(
      one.computer,
      `curl -s -m ${PATIENCE_S} -o /dev/null -w "%{http_code}" "$(npm config get registry)"`,
      { timeoutMs: 2 * PATIENCE_S * 1_000 },
    );
    expect(registry.output.toString()).toBe('200');
  });

  test('rules of other programs are unchanged once the agent has closed', async () => {
    const rules = async () => {
      const tables = await Promise.all(
        ['filter', 'mangle'].map((table) => exec('iptables-save', ['-t', table])),
      );
      return tables.flatMap(({ stdout }) => stdout.split('\n'));
    };
    // Other agents and stacks on this machine may start and stop meanwhile; the names of their bridges identify their
    // rules. The engine removes the jump to DOCKER-USER for a moment whenever it creates a network.
    const ofOthers = /^#|sy[0-9a-f]{8}|br-[0-9a-f]{12}|^-A FORWARD -j DOCKER-USER$/;
    const ofNoAgent = (lines: string[]) =>
      lines.map((line) => line.replace(/ \[\d+:\d+\]$/, '')).filter((line) => !ofOthers.test(line));
    const before = ofNoAgent(await rules());
    const other = await openTestHost();
    const name = networkName(other.options.agentId);
    expect((await rules()).filter((line) => line.includes(`-j ${name}-`)).length).toBe(3);
    await other.close();
    // The engine rewrites its own rules whenever a network of another agent is created or removed.
    await expect.poll(async () => ofNoAgent(await rules())).toEqual(before);
    expect((await rules()).filter((line) => line.includes(name))).toEqual([]);
  });

  test('the firewall is in place once an agent guards it and the engine answers, even without an image', async () => {
    const noImage = new AbortController();
    const ensure = (_: unknown, signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        for (const end of [noImage.signal, signal]) end.addEventListener('abort', () => reject(end.reason));
      });
    const agentId = `${testHost.options.agentId}_walls`;
    const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
    const standardImage = { name: IMAGE, ensure };
    const docker = new Docker();
    const listNetworks = vi
      .spyOn(docker, 'listNetworks')
      .mockRejectedValueOnce(new Error('the engine says no'));
    const options = { ...testHost.options, agentId, dataDirectory, standardImage, docker, wallsWatchMs: 50 };
    const other = await openComputerHost(options);
    const name = networkName(agentId);
    const ofName = async () => (await exec('iptables-save', ['-t', 'mangle'])).stdout.includes(`-j ${name}-`);
    expect(await ofName()).toBe(false);
    other.guard();
    other.prepare();
    await expect.poll(ofName).toBe(true);
    expect(listNetworks).toHaveBeenCalledTimes(2);
    expect(other.imageStatus().ready).toBe(false);
    await other.close();
    expect(await ofName()).toBe(false);
    await rm(dataDirectory, { recursive: true });
  });

  test('inside there is no way to the init’s socket, no host device, no right to mount', async () => {
    const { computer } = await testHost.createComputer();
    const { output } = await run(
      computer,
      'ls -A /run/switchyard; touch /run/switchyard/x 2>/dev/null && echo wrote; mount -t tmpfs x /mnt 2>/dev/null && echo mounted; ' +
        '(echo x > /sbin/switchyard-init) 2>/dev/null && echo replaced; cat /proc/1/environ 2>/dev/null; ls /dev | grep -E "^(vd|sd|nvme)"; true',
    );
    expect(output.toString()).toBe('');
  });
});

test('a standard image that is removed while the agent runs is made again; until then creations are refused', async () => {
  const docker = new Docker();
  const [repo, tag] = ['switchyard-test/removed', 'latest'];
  const name = `${repo}:${tag}`;
  const built = Promise.withResolvers<void>();
  let builds = 0;
  const ensure = async (report: (message: string) => void) => {
    builds += 1;
    report('building it');
    if (builds > 1) await built.promise;
    await docker.getImage(IMAGE).tag({ repo, tag });
  };
  const other = await openTestHost({ standardImage: { name, ensure } });
  try {
    const reserve = () => other.host.reserve({ computerId: 'cmp_removed', image: name, ...size });
    await docker.getImage(name).remove();
    await expect(reserve()).rejects.toMatchObject({ code: 'no_capacity' });
    await expect.poll(() => other.host.imageStatus()).toEqual({ ready: false, message: 'building it' });
    await expect(reserve()).rejects.toMatchObject({ code: 'no_capacity', message: 'building it' });
    built.resolve();
    await expect.poll(() => other.host.imageStatus().ready).toBe(true);
    await (await reserve()).discard();
    expect(builds).toBe(2);
  } finally {
    built.resolve();
    await other.close();
    await docker.getImage(name).remove();
  }
});

describe('how a computer ends', () => {
  test('stop ends background processes in order, and says so', async () => {
    const { id, computer } = await testHost.createComputer();
    await run(
      computer,
      `setsid bash -c 'trap "echo asked > /workspace/asked; exit" TERM; touch listens; while :; do sleep 0.01; done' >/dev/null 2>&1 &
until [ -e listens ]; do sleep 0.01; done`,
    );
    await computer.stop();
    expect(await computer.exited).toBe('exited');
    const again = await (await testHost.host.reserve({ computerId: id, image: IMAGE, ...size })).start();
    expect((await run(again, 'cat asked')).output.toString()).toBe('asked\n');
  });

  test('a stop asks the init, not the engine; the engine ends a computer whose init hangs', async () => {
    const { docker } = testHost.options;
    const asked = (await testHost.createComputer()).computer;
    const hung = (await testHost.createComputer()).computer;
    const { State } = await docker.getContainer(hung.containerId).inspect();
    const signalled = new Set<string>();
    const destroyed = new Set<string>();
    const events = await docker.getEvents({
      filters: { container: [asked.containerId, hung.containerId], event: ['kill', 'destroy'] },
    });
    events.setEncoding('utf8').on('data', (lines: string) => {
      for (const line of lines.split('\n').filter(Boolean)) {
        const { Action, id } = JSON.parse(line) as { readonly Action: string; readonly id: string };
        (Action === 'kill' ? signalled : destroyed).add(id);
      }
    });
    process.kill(State.Pid, 'SIGSTOP');
    await Promise.all([asked.stop(), hung.stop()]);
    await expect.poll(() => destroyed).toEqual(new Set([asked.containerId, hung.containerId]));
    (events as Readable).destroy();
    expect(signalled).toEqual(new Set([hung.containerId]));
    expect([await asked.exited, await hung.exited]).toEqual(['exited', 'exited']);
  });

  test('a command that runs when its computer ends gets an error or its true end, never an invented one', async () => {
    const { computer } = await testHost.createComputer();
    const up = Promise.withResolvers<void>();
    const running = run(computer, 'echo up; sleep 60', { consume: () => up.resolve() });
    const outcome = running.then(
      ({ exitCode }) => exitCode,
      (error) => error.code,
    );
    await up.promise;
    await computer.stop();
    expect([128 + 15, 'computer_failed']).toContain(await outcome);
    await expect(run(computer, 'true')).rejects.toMatchObject({ code: 'computer_failed' });
  });

  test('a container that is killed from outside is noticed at once', async () => {
    const { computer } = await testHost.createComputer();
    const running = run(computer, 'sleep 60').catch((error) => error.code);
    await testHost.options.docker.getContainer(computer.containerId).kill();
    expect(await computer.exited).toBe('exited');
    expect(await running).toBe('computer_failed');
    await testHost.host.remove(computer.containerId);
    await testHost.host.remove(computer.containerId);
    expect((await testHost.host.containers()).map(({ containerId }) => containerId)).not.toContain(
      computer.containerId,
    );
  });

  test('a container removed from outside while no agent watched leaves nothing behind once it is ended', async () => {
    const { computer } = await testHost.createComputer();
    const container = testHost.options.docker.getContainer(computer.containerId);
    const { Mounts: seen } = await container.inspect();
    const slot = seen.find(({ Destination }) => Destination === '/workspace')!.Source;
    const own = async () => (await mountPoints()).filter((point) => point.includes(basename(slot)));
    expect(await own()).toContain(slot);
    computer.release();
    await container.remove({ force: true });
    await testHost.host.remove(computer.containerId);
    expect(await own()).toEqual([]);
    await expect(access(slot)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a discarded reservation leaves nothing behind', async () => {
    const { host } = testHost;
    await host.workspaces.create('cmp_given_up');
    const reservation = await host.reserve({ computerId: 'cmp_given_up', image: IMAGE, ...size });
    await reservation.discard();
    expect((await host.containers()).map(({ containerId }) => containerId)).not.toContain(
      reservation.containerId,
    );
  });
});

describe('the standard image as a computer', () => {
  test('Chromium and the desktop work within its limits', async () => {
    const { computer } = await testHost.createComputer();
    const { output, exitCode } = await run(
      computer,
      'start-desktop && curl -s -o /dev/null -w "%{http_code}\\n" http://127.0.0.1:6080/vnc.html && ' +
        'chromium --headless --screenshot=shot.png "data:text/html,hi" >/dev/null 2>&1 && file -b shot.png',
      { timeoutMs: 180_000 },
    );
    expect(output.toString()).toMatch(/^200\nPNG image data/);
    expect(exitCode).toBe(0);
  });
});

test('a container made for the pool belongs to it from its beginning', async () => {
  const { host } = testHost;
  await host.poolFilled();
  const ids = new Set((await host.containers()).map(({ containerId }) => containerId));
  await testHost.createComputer(); // takes one out of it, so that another is made
  let isFull = false;
  const filled = host.poolFilled().then(() => {
    isFull = true;
  });
  const made = async () => (await host.containers()).filter(({ containerId }) => !ids.has(containerId));
  while (!isFull) for (const container of await made()) expect(container).toMatchObject({ pooled: true });
  await filled;
  expect(await made()).toMatchObject([{ pooled: true }]);
});

test('an engine that hangs delays the pool, and the pool is filled when the engine answers again', async () => {
  const engine = await openHeldEngine();
  const failed = Promise.withResolvers<void>();
  const write = (line: string) => {
    if (line.includes('could not be made ahead of need; trying again')) failed.resolve();
  };
  const logger = makeLogger('test', 'warn', { write });
  const other = await openTestHost({ docker: engine.docker, warmPool: 1, engineAnswerMsMax: 20_000, logger });
  try {
    await other.host.poolFilled();
    const asked = engine.hold(/^POST .*\/containers\/create/);
    await other.createComputer(); // takes the pooled one
    await asked;
    await failed.promise;
    engine.release();
    await other.host.poolFilled();
  } finally {
    engine.release();
    await other.close();
    await engine.close();
  }
});

test.each([
  ['finished', 0, /^(GET|DELETE) .*\/containers\/[0-9a-f]{64}/],
  ['given its size', 1, /^(POST .*\/update|DELETE .*\/containers)/],
])(
  'a container that can be neither %s nor removed is a failed computer, and goes later',
  async (_, warmPool, broken) => {
    const engine = await openHeldEngine();
    const other = await openTestHost({ docker: engine.docker, warmPool });
    const owned = async () => (await other.host.containers()).filter(({ pooled }) => !pooled);
    try {
      await other.host.poolFilled();
      engine.fail(broken);
      const created = other.createComputer({ cpu: 2 });
      await expect(created).rejects.toMatchObject({ code: 'computer_failed' });
      engine.release();
      const [left] = await owned();
      await other.host.remove(left!.containerId);
      expect(await owned()).toEqual([]);
    } finally {
      engine.release();
      await other.close();
      await engine.close();
    }
  },
);

describe('images of others', () => {
  test('one that cannot be pulled is the caller’s error and leaves nothing behind', async () => {
    const owned = async () => (await testHost.host.containers()).filter(({ pooled }) => !pooled).length;
    const before = await owned();
    await testHost.host.workspaces.create('cmp_foreign');
    for (const image of [
      'localhost:5000/x',
      '127.0.0.1/x',
      'registry.invalid/x/y:1',
      'switchyard/debian:12',
    ]) {
      const refused = testHost.host.reserve({ computerId: 'cmp_foreign', image, ...size });
      await expect(refused).rejects.toMatchObject({ code: 'image_unavailable', param: 'image' });
    }
    expect(await owned()).toBe(before);
  });
});
