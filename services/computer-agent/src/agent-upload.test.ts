// Uploads at the agent, on the real Docker engine, with a clock that the test controls: an upload counts as activity,
// is atomic, and ends with its computer or caller.
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { openReply } from '@switchyard/bus';
import { type HostUploadHead, hostSubject, uploadResult } from '@switchyard/contracts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  diskOf,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const run = promisify(execFile);

const MINUTE_MS = 60_000;
const CONTENT = Buffer.from('city,inhabitants\nUlm,126000\n');
const made: string[] = [];

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);
afterEach(async () => {
  for (const id of made.splice(0)) await testAgent.delete(id).catch(() => {});
});
afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});

async function create(): Promise<string> {
  const { id } = await testAgent.create();
  made.push(id);
  return id;
}

async function upload(id: string, body: Uint8Array | AsyncIterable<Uint8Array>, signal?: AbortSignal) {
  const head: HostUploadHead = {
    request_id: 'req_x',
    org: 'org_test',
    id,
    path: null,
    filename: 'cities.csv',
    bytes: CONTENT.length,
    sha256: hash('sha256', CONTENT),
  };
  const call = { subject: hostSubject(testAgent.agent.hostId, 'upload'), head, body };
  const reply = await openReply(installation.bus, call, signal);
  return uploadResult.parse(await reply.end);
}

/** A body that sends one half at once, and the rest when the test continues it. `begun`: the computer reads it. */
function inTwoHalves() {
  const half = CONTENT.length >> 1;
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  async function* body() {
    yield CONTENT.subarray(0, half);
    begun.resolve();
    await rest.promise;
    yield CONTENT.subarray(half);
  }
  return { body: body(), begun: begun.promise, finish: rest.resolve };
}

async function activityOf(id: string): Promise<string | null | undefined> {
  await testAgent.pass(1_000); // activity is written half a second later
  return (await testAgent.record(id))?.last_activity_at;
}

/** The computer's record says that it is busy. */
async function expectBusy(id: string): Promise<void> {
  expect(await activityOf(id)).toBeNull();
}

/** Resolves when the computer's record says that it is idle. */
async function letGo(id: string): Promise<void> {
  await expect.poll(() => activityOf(id)).toEqual(expect.any(String));
}

test('a computer does not stop during an upload, and the idle window begins at its end', async () => {
  const id = await create();
  const { body, begun, finish } = inTwoHalves();
  const outcome = upload(id, body);
  await begun;
  await expectBusy(id);
  await testAgent.pass(10 * MINUTE_MS);
  expect((await testAgent.record(id))?.state).toBe('running');
  expect((await testAgent.exec(id, 'ls -A')).stdout).toBe(''); // the file is invisible until it is complete
  finish();
  expect(await outcome).toEqual({ path: '/workspace/cities.csv', bytes: CONTENT.length });
  expect((await testAgent.exec(id, 'cat cities.csv')).stdout).toBe(CONTENT.toString());
  await testAgent.pass(3 * MINUTE_MS);
  const stopped = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
  expect(stopped.stop_reason).toBe('idle');
});

test('an upload to a computer that stops fails at once, and leaves no file', async () => {
  const id = await create();
  const { body, begun } = inTwoHalves();
  const outcome = upload(id, body).catch((error: unknown) => error);
  await begun;
  await expectBusy(id);
  await testAgent.ask('stop', id);
  expect(await outcome).toMatchObject({ code: 'computer_not_running' });
  await testAgent.ask('start', id);
  expect((await testAgent.exec(id, 'ls -A')).stdout).toBe('');
});

test('an upload does not hold the disk of a computer that is deleted', async () => {
  const { id } = await testAgent.create();
  const { image } = await diskOf(testAgent.dataFolder, id);
  const { body, begun } = inTwoHalves();
  const outcome = upload(id, body).catch((error: unknown) => error);
  await begun;
  await expectBusy(id);
  expect(await filesOfLoopDevices()).toContain(image);
  await testAgent.delete(id);
  expect(await outcome).toMatchObject({ code: 'computer_not_found' }); // not "stopped: start it first"
  await expect.poll(filesOfLoopDevices).not.toContain(image);
});

async function filesOfLoopDevices(): Promise<string> {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE']);
  return stdout;
}

test('a stopped computer, an unknown one, and another org’s get nothing', async () => {
  const id = await create();
  await testAgent.ask('stop', id);
  await expect(upload(id, CONTENT)).rejects.toMatchObject({ code: 'computer_not_running' });
  await expect(upload('cmp_nope', CONTENT)).rejects.toMatchObject({ code: 'computer_not_found' });
});

test('a caller that disconnects midway leaves no file, and the computer idle', async () => {
  const id = await create();
  const { body, begun } = inTwoHalves();
  const gone = new AbortController();
  const outcome = upload(id, body, gone.signal).catch((error: unknown) => error);
  await begun;
  await expectBusy(id);
  gone.abort(new Error('the client went away'));
  expect(await outcome).toMatchObject({ message: 'the client went away' });
  expect((await testAgent.exec(id, 'ls -A')).stdout).toBe('');
  await letGo(id); // the received part is removed
  await testAgent.pass(3 * MINUTE_MS);
  await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
});
