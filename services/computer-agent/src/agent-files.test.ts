// Files of a computer through its agent: real nats-server and Docker engine.
import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { requestHost } from '@switchyard/bus';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { read, remove } from './lifecycle/use-run.ts';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const run = promisify(execFile);

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);
afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});

async function createComputer() {
  const { id } = await testAgent.create();
  return testAgent.agent.computers.find('org_test', id);
}

test('memory of a read is free when the read has ended, while the computer goes on', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const computer = await createComputer();
  /** A read as the operation does it: `work` refers to the call. */
  async function readOnce(): Promise<WeakRef<object>> {
    const call = { bytes: Buffer.alloc(1_024) };
    await read(computer, [], async ({ handle }) => call.bytes.write(String(handle.fd)));
    return new WeakRef(call);
  }
  const call = await readOnce();
  await expect
    .poll(() => {
      collectGarbage();
      return call.deref() === undefined; // not the object, which would be kept until the next attempt
    })
    .toBe(true);
  expect(computer.record.state).toBe('running');
});

test('a read ends with its computer, and says why', async () => {
  const computer = await createComputer();
  const opened = Promise.withResolvers<void>();
  const reading = read(computer, [], () => {
    opened.resolve();
    return new Promise<never>(() => {});
  });
  const outcome = expect(reading).rejects.toMatchObject({ code: 'computer_not_running' });
  await opened.promise;
  await testAgent.ask('stop', computer.id);
  await outcome;
});

describe('a folder goes with all that is in it,', () => {
  const NEVER = new AbortController().signal;

  /** A computer with folders that take `rm` a moment: each has 20,000 folders, one in the other. */
  async function createWithDeepFolders(...names: readonly string[]) {
    const computer = await createComputer();
    const nest = "import os\nfor _ in range(20_000): os.mkdir('d'); os.chdir('d')";
    for (const name of names)
      await testAgent.exec(computer.id, `mkdir ${name} && cd ${name} && python3 -c "${nest}"`);
    return computer;
  }

  /** Process ids of each `rm` that has entered a folder of this agent. */
  async function removers(): Promise<number[]> {
    const { stdout } = await run('pgrep', ['-x', 'rm']).catch(() => ({ stdout: '' })); // there is none
    const pids: number[] = [];
    for (const pid of stdout.split('\n').filter((line) => line !== '')) {
      const folder = await readlink(`/proc/${pid}/cwd`).catch(() => ''); // it has ended
      if (folder.startsWith(testAgent.dataFolder)) pids.push(Number(pid));
    }
    return pids;
  }

  /** Suspends the next `rm`, so that it does not end by itself, and then lets it go on. */
  async function whileRemoving(work: () => Promise<unknown>): Promise<void> {
    let pid = 0;
    const isThere = async () => {
      [pid = 0] = await removers();
      return pid > 0;
    };
    await expect.poll(isThere, { interval: 5 }).toBe(true);
    process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      // The work may have killed it.
      if ((await removers()).includes(pid)) process.kill(pid, 'SIGCONT');
    }
    await expect.poll(removers).toEqual([]);
  }

  test('one at a time in a computer, by a program of bounded memory', async () => {
    const names = ['a', 'b', 'c'];
    const { id, org } = (await createWithDeepFolders(...names)).record;
    let pending = true;
    const removed = Promise.all(
      names.map((path) =>
        requestHost(installation.bus, testAgent.agent.hostId, 'file-delete', {
          ...{ org, id, path, recursive: true },
        }),
      ),
    ).finally(() => {
      pending = false;
    });
    const counts = new Set<number>();
    const limits = new Set<string>();
    while (pending) {
      const pids = await removers();
      counts.add(pids.length);
      for (const pid of pids)
        limits.add(
          await readFile(`/proc/${pid}/limits`, 'utf8').then(
            (text) => /Max address space +(\w+)/.exec(text)?.[1] ?? 'none',
            () => 'ended',
          ),
        );
    }
    await removed;
    expect([...counts].sort()).toEqual([0, 1]);
    expect(limits).toContain(String(128 * 1024 * 1024));
    expect(limits).not.toContain('unlimited');
    expect((await testAgent.exec(id, 'ls -A')).stdout).toBe('');
  });

  test('and 128 run or wait at most', async () => {
    const computer = await createWithDeepFolders('a');
    const removing = ['a', ...Array(128).fill('none')].map((name) =>
      remove(computer, [name], { recursive: true, signal: NEVER }).catch(({ code }) => code),
    );
    expect(await Promise.all(removing)).toEqual([
      undefined,
      ...Array(127).fill('path_not_found'),
      'rate_limited',
    ]);
  });

  test('until its caller leaves or the computer stops', async () => {
    const computer = await createWithDeepFolders('a', 'b');
    const caller = new AbortController();
    const left = remove(computer, ['a'], { recursive: true, signal: caller.signal });
    const reason = new Error('the caller left');
    await whileRemoving(async () => {
      caller.abort(reason);
      await expect(left).rejects.toBe(reason);
    });
    const stopped = remove(computer, ['b'], { recursive: true, signal: NEVER });
    const refused = expect(stopped).rejects.toMatchObject({ code: 'computer_not_running' });
    await whileRemoving(async () => {
      await testAgent.ask('stop', computer.id);
      await refused;
    });
    await testAgent.ask('start', computer.id);
    expect((await testAgent.exec(computer.id, 'ls')).stdout).toBe('a\nb\n');
  });
});
