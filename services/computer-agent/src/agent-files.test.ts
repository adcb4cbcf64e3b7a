// Files of a computer through its agent: real nats-server and Docker engine.
import { randomUUID } from 'node:crypto';
import { isFree } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Computer } from './lifecycle/computer.ts';
import { read, remove } from './lifecycle/use-run.ts';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

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

test('memory of a read is freed when it ends, while the computer runs on', async () => {
  const computer = await createComputer();
  /** A read as the operation does it: `work` refers to the call. */
  async function readOnce(): Promise<WeakRef<object>> {
    const call = { bytes: Buffer.alloc(1_024) };
    await read(computer, [], async ({ handle }) => call.bytes.write(String(handle.fd)));
    return new WeakRef(call);
  }
  const call = await readOnce();
  await expect.poll(() => isFree(call)).toBe(true);
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

describe('a folder is removed with its content,', () => {
  const NEVER = new AbortController().signal;
  const removeFolder = (computer: Computer, name: string, signal = NEVER) =>
    remove(computer, [name], { recursive: true, execId: randomUUID(), signal });

  test('whatever its name and link targets, and only with recursive=true', async () => {
    const computer = await createComputer();
    const { id } = computer;
    const names = ['--help', `it's "$HOME" `, 'a\nb'];
    for (const name of names) {
      const command = 'mkdir -p "./$NAME/deep/er" && ln -s /etc "./$NAME/link"';
      expect(await testAgent.exec(id, { command, env: { NAME: name } })).toMatchObject({ exit_code: 0 });
      const kept = remove(computer, [name], { recursive: false, execId: randomUUID(), signal: NEVER });
      await expect(kept).rejects.toMatchObject({ code: 'invalid_request', param: 'path' });
      await removeFolder(computer, name);
    }
    expect((await testAgent.exec(id, 'ls -A; head -c 4 /etc/passwd')).stdout).toBe('root');
  });

  /** From now on `rm` in the computer is this script. */
  const replaceRm = (id: string, script: string) =>
    testAgent.exec(id, `mkdir -p a/b && echo ${script} > /usr/local/bin/rm && chmod +x /usr/local/bin/rm`);

  test('or its caller reads why not', async () => {
    const computer = await createComputer();
    await replaceRm(computer.id, `"echo rm: cannot remove this; echo more; exit 1"`);
    await expect(removeFolder(computer, 'a')).rejects.toMatchObject({
      code: 'computer_failed',
      message: 'Part of the folder was not removed. rm: cannot remove this',
    });
  });

  test('until its caller leaves or the computer stops', async () => {
    const computer = await createComputer();
    const { id } = computer;
    await replaceRm(id, '"exec sleep 1000"');
    const removing = () =>
      expect.poll(() => testAgent.exec(id, 'pgrep -x sleep || true')).not.toMatchObject({ stdout: '' });
    const caller = new AbortController();
    const reason = new Error('the caller left');
    const left = expect(removeFolder(computer, 'a', caller.signal)).rejects.toBe(reason);
    await removing();
    caller.abort(reason);
    await left;
    expect((await testAgent.exec(id, 'pgrep -x sleep || true')).stdout).toBe('');
    const stopped = expect(removeFolder(computer, 'a')).rejects.toMatchObject({
      code: 'computer_not_running',
    });
    await removing();
    await testAgent.ask('stop', id);
    await stopped;
    await testAgent.ask('start', id);
    expect((await testAgent.exec(id, 'ls')).stdout).toBe('a\n');
  });
});
