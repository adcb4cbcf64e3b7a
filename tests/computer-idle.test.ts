// Idle detection through the whole stack: open connections and commands keep a computer running beyond its idle window,
// and reading its state does not. The unused computer is the last one used, so its stop shows that the window is over.
import { once } from 'node:events';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from './__fixtures__/first-computer.ts';

/** 30 s: longer than the time from a computer’s creation to its first use, also on a busy machine. */
const IDLE_MINUTES = 0.5;
const IDLE_STOP_MS_MAX = 120_000;
/** Longer than the test. */
const SLEEP = { command: 'echo on; sleep 600', timeout: 900 };
const PORT = 3000;
/** Sends some bytes at once, then nothing. */
const SERVER = `require('node:http').createServer((req, res) => { res.writeHead(200); res.write('hello'); }).listen(${PORT})`;

let stack: TestStack;

beforeAll(async () => {
  const env = { SWITCHYARD_IDLE_STOP_MINUTES: String(IDLE_MINUTES), SWITCHYARD_WARM_POOL: '4' };
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', ...env } });
  await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(() => stack?.stop());

async function ask(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${stack.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    ...(signal ? { signal } : {}),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
async function call(method: string, path: string, body?: object): Promise<any> {
  return (await ask(method, path, body)).json();
}

async function createComputer(wish: object = {}): Promise<string> {
  const made = await call('POST', '/computers', { cpu: 0.25, memory_mb: 512, ...wish });
  if (made.id === undefined) throw new Error(JSON.stringify(made));
  return made.id;
}

/** Cancels an answer. The reference keeps it open until then: `fetch` cancels an unreferenced answer itself. */
async function letGo(answer: Response): Promise<void> {
  await answer.body?.cancel().catch(() => {});
}

const look = (id: string) => call('GET', `/computers/${id}`);

test('a connection, a terminal, a command and an idle time of its own keep computers running; reads do not', async () => {
  const leave = new AbortController();
  // Each starts as soon as its own computer exists, before the idle window is over.
  const withPort = async () => {
    const id = await createComputer();
    await call('POST', `/computers/${id}/exec`, {
      command: `(node -e "${SERVER}" > /dev/null 2>&1 &); until ss -tln | grep -q :${PORT}; do sleep 0.05; done`,
    });
    const connection = await ask('GET', `/computers/${id}/ports/${PORT}/`, undefined, leave.signal);
    expect(connection.status).toBe(200);
    return { id, leave: () => letGo(connection) };
  };
  const withTerminal = async () => {
    const id = await createComputer();
    const link = await call('POST', `/computers/${id}/links`, {});
    const terminal = new WebSocket(link.url);
    await once(terminal, 'open');
    return { id, leave: () => terminal.close() };
  };
  const withStream = async () => {
    const id = await createComputer();
    const body = { ...SLEEP, stream: true };
    const stream = await ask('POST', `/computers/${id}/exec`, body, leave.signal);
    expect(stream.status).toBe(200);
    return { id, leave: () => letGo(stream) };
  };
  const withCommand = async () => {
    const id = await createComputer();
    ask('POST', `/computers/${id}/exec`, SLEEP, leave.signal).catch(() => {}); // the test abandons it
    return { id, leave: () => {} };
  };
  const used = await Promise.all([withPort(), withTerminal(), withStream(), withCommand()]);
  const busy = used.map(({ id }) => id);

  const patient = await createComputer({ idle_stop_minutes: 30 });
  const unused = await createComputer();
  const looks = async (id: string) => {
    await Promise.all([call('GET', '/computers'), call('GET', `/computers/${id}/metrics`)]);
    return look(id);
  };
  await expect
    .poll(() => looks(unused), { timeout: IDLE_STOP_MS_MAX })
    .toMatchObject({ status: 'stopped', stop_reason: 'idle' });
  for (const id of busy) expect(await look(id)).toMatchObject({ status: 'running', idle_since: null });
  const idle = await look(patient);
  expect(idle).toMatchObject({ status: 'running', idle_stop_minutes: 30 });
  expect(Date.parse(idle.stops_at) - Date.parse(idle.idle_since)).toBe(30 * 60_000);

  leave.abort();
  for (const one of used) await one.leave();
  for (const id of busy)
    await expect
      .poll(() => looks(id), { timeout: IDLE_STOP_MS_MAX })
      .toMatchObject({ status: 'stopped', stop_reason: 'idle' });
});
