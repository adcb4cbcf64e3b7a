// Connections through the agent, on the real Docker engine, with a clock that the test controls: they keep their
// computer busy, end with it, and leave nothing behind when their caller disconnects.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type ByteSource, openReply } from '@switchyard/bus';
import { hostSubject, hostTerminalEnd, type TerminalInput } from '@switchyard/contracts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const MINUTE_MS = 60_000;
const PORT = 7100;
/** A server that does not close its connections when its computer stops. */
const ECHO = `process.on('SIGTERM', () => {}); require('node:net').createServer((s) => { s.on('error', () => {}); s.pipe(s); }).listen(${PORT}, '127.0.0.1')`;
const made: string[] = [];

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);
afterEach(async () => {
  for (const id of made.splice(0)) await testAgent.delete(id).catch(() => {});
  expect(installation.bus.openCalls.outgoing).toBe(0);
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

async function createWithServer(): Promise<string> {
  const id = await create();
  await testAgent.exec(
    id,
    `(node -e "${ECHO}" > /dev/null 2>&1 &); until ss -tln | grep -q :${PORT}; do sleep 0.05; done`,
  );
  return id;
}

const toPort = (id: string, port: number, body: ByteSource, signal?: AbortSignal) =>
  openReply(
    installation.bus,
    {
      subject: hostSubject(testAgent.agent.hostId, 'port'),
      head: { request_id: 'req_x', org: 'org_test', id, port },
      body,
    },
    signal,
  );

const lineOf = (input: TerminalInput) => `${JSON.stringify(input)}\n`;
const keysOf = (typed: string) => ({ keys: Buffer.from(typed).toString('base64') });

const toTerminal = (id: string, body: ByteSource, signal?: AbortSignal) =>
  openReply(
    installation.bus,
    {
      subject: hostSubject(testAgent.agent.hostId, 'terminal'),
      head: { request_id: 'req_x', org: 'org_test', id, cols: 80, rows: 24 },
      body,
    },
    signal,
  );

/** A body that the test continues step by step. */
const openBody = () => new Readable({ read() {} });

/** The computer's record says that it is busy. */
async function expectBusy(id: string): Promise<void> {
  await testAgent.pass(1_000); // activity is written half a second later
  expect((await testAgent.record(id))?.last_activity_at).toBeNull();
}

test('bytes go to a port and come back unchanged', async () => {
  const id = await createWithServer();
  const content = randomBytes(8 * 1024 * 1024);
  const { body } = await toPort(id, PORT, Readable.from([content], { objectMode: false }));
  const came = createHash('sha256');
  for await (const chunk of body) came.update(chunk);
  expect(came.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
});

test('an open connection keeps its computer from idling; the window begins when it has ended', async () => {
  const id = await createWithServer();
  const sending = openBody();
  const { body } = await toPort(id, PORT, sending);
  await expectBusy(id);
  await testAgent.pass(10 * MINUTE_MS);
  sending.push('still here');
  expect(String((await body.next()).value)).toBe('still here');
  sending.push(null);
  expect((await body.next()).done).toBe(true);
  await testAgent.pass(3 * MINUTE_MS);
  expect((await testAgent.recordWhen(id, ({ state }) => state === 'stopped')).stop_reason).toBe('idle');
});

test('a stop ends connections and terminals, and says so; a stopped computer takes none', async () => {
  const id = await createWithServer();
  const port = await toPort(id, PORT, openBody());
  const terminal = await toTerminal(id, openBody());
  const ends = Promise.all(
    [port, terminal].map(({ body }) => Array.fromAsync(body).catch((error: unknown) => error)),
  );
  await testAgent.ask('stop', id);
  for (const end of await ends) expect(end).toMatchObject({ code: 'computer_not_running' });
  await expect(toPort(id, PORT, openBody())).rejects.toMatchObject({ code: 'computer_not_running' });
  await expect(toTerminal(id, openBody())).rejects.toMatchObject({ code: 'computer_not_running' });
});

test('a deletion ends a connection; an unknown computer refuses one', async () => {
  const id = await createWithServer();
  const { body } = await toPort(id, PORT, openBody());
  const end = Array.fromAsync(body).catch((error: unknown) => error);
  await testAgent.delete(id);
  expect(await end).toMatchObject({ code: 'computer_not_found' });
  await expect(toPort('cmp_nope', PORT, openBody())).rejects.toMatchObject({ code: 'computer_not_found' });
});

test('a port without a listener is an error for the caller, and the computer idles', async () => {
  const id = await create();
  await expect(toPort(id, 9, openBody())).rejects.toMatchObject({ code: 'port_unreachable' });
  await testAgent.pass(3 * MINUTE_MS);
  await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
});

test('a terminal echoes its input, accepts a new size, and ends with its shell’s exit code', async () => {
  const id = await create();
  const typed = openBody();
  const { body, end } = await toTerminal(id, typed);
  const lines = lineOf({ cols: 99, rows: 33 }) + lineOf(keysOf('stty size; exit 4\r'));
  for (const part of lines.match(/.{1,9}/gs) ?? []) typed.push(part); // cut anywhere
  const shown = Buffer.concat(await Array.fromAsync(body)).toString();
  expect(shown).toContain('33 99\r\n');
  expect(hostTerminalEnd.parse(await end)).toEqual({ exit_code: 4 });
});

test('a caller’s disconnect ends everything that its terminal started', async () => {
  const id = await create();
  const gone = new AbortController();
  const typed = openBody();
  const { body } = await toTerminal(id, typed, gone.signal);
  typed.push(lineOf(keysOf("setsid sleep 4444 & echo be''gun\r")));
  let shown = '';
  while (!shown.includes('begun\r\n')) shown += String((await body.next()).value);
  gone.abort(new Error('the client went away'));
  await expect(body.next()).rejects.toThrow('the client went away');
  await expect
    .poll(async () => (await testAgent.exec(id, 'pgrep -fc "[s]leep 4444" || true')).stdout.trim())
    .toBe('0');
});
