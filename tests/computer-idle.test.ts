// Busy means busy, through the whole of it: what is open keeps a computer on for longer than its idle window, and looking
// at it does not. The computer that nobody uses tells when the window is over, for it is the last that was used.
import { once } from 'node:events';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const IDLE_MINUTES = 0.08; // 4.8 s
const PORT = 3000;
/** Says something at once, and then nothing. */
const SERVER = `require('node:http').createServer((req, res) => { res.writeHead(200); res.write('hello'); }).listen(${PORT})`;

let stack: TestStack;

beforeAll(async () => {
  const env = { SWITCHYARD_IDLE_STOP_MINUTES: String(IDLE_MINUTES), SWITCHYARD_WARM_POOL: '4' };
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', ...env } });
  await vi.waitFor(async () => call('DELETE', `/computers/${await createComputer()}`), {
    timeout: 280_000,
    interval: 1_000,
  });
});
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

async function createComputer(): Promise<string> {
  const made = await call('POST', '/computers', { cpu: 0.25, memory_mb: 512 });
  if (made.id === undefined) throw new Error(JSON.stringify(made));
  return made.id;
}

const look = (id: string) => call('GET', `/computers/${id}`);

test('a connection, a terminal, a streamed and a plain command keep their computers on; looking keeps none', async () => {
  const [withPort, withTerminal, withStream, withCommand] = await Promise.all(
    Array.from({ length: 4 }, createComputer),
  );
  // Each begins before its computer has been idle for the window.
  const started = call('POST', `/computers/${withPort}/exec`, {
    command: `(node -e "${SERVER}" > /dev/null 2>&1 &); until ss -tln | grep -q :${PORT}; do sleep 0.05; done`,
  });
  const link = await call('POST', `/computers/${withTerminal}/links`, {});
  const terminal = new WebSocket(link.url);
  const leave = new AbortController();
  const [, , stream] = await Promise.all([
    started,
    once(terminal, 'open'),
    ask(
      'POST',
      `/computers/${withStream}/exec`,
      { command: 'echo on; sleep 60', stream: true },
      leave.signal,
    ),
  ]);
  const command = ask('POST', `/computers/${withCommand}/exec`, { command: 'sleep 60' }, leave.signal);
  command.catch(() => {}); // it is left
  const connection = await ask('GET', `/computers/${withPort}/ports/${PORT}/`, undefined, leave.signal);
  expect(stream.status).toBe(200);
  const busy = [withPort, withTerminal, withStream, withCommand] as string[];

  const unused = await createComputer();
  const looks = async (id: string) => {
    await Promise.all([call('GET', '/computers'), call('GET', `/computers/${id}/metrics`)]);
    return look(id);
  };
  await expect
    .poll(() => looks(unused), { timeout: 20_000 })
    .toMatchObject({ status: 'stopped', stop_reason: 'idle' });
  for (const id of busy) expect(await look(id)).toMatchObject({ status: 'running', idle_since: null });

  leave.abort();
  terminal.close();
  await connection.body?.cancel().catch(() => {});
  for (const id of busy)
    await expect
      .poll(() => looks(id), { timeout: 20_000 })
      .toMatchObject({ status: 'stopped', stop_reason: 'idle' });
}, 90_000);
