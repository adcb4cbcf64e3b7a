// Files of a computer through its agent: real nats-server and Docker engine.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { read } from './lifecycle/use-run.ts';
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
