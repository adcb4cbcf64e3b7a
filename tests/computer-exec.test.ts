// Commands over HTTP: streams, clients that read slowly or go away, and services killed on the way.
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { type ExecEvent, type ExecObject, execEvent } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { serverEvents } from './__fixtures__/server-events.ts';

const PATIENCE = { timeout: 60_000, interval: 200 };
/** Timeout of commands that write something and then exceed it. */
const SHORT_TIMEOUT_S = 10;

let stack: TestStack;
let id: string;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  readonly body: any;
}

function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(`${stack.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
}

async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await send(method, path, body);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const exec = (command: string, more: object = {}) =>
  call('POST', `/computers/${id}/exec`, { command, ...more });

const stdout = async (command: string): Promise<string> => (await exec(command)).body.stdout;

/** Number of processes whose command line contains these words, except the counting process. */
const countOf = async (words: string) =>
  Number(await stdout(`pgrep -fc '[${words[0]}]${words.slice(1)}' || true`));

async function stream(command: string, more: object = {}, signal?: AbortSignal) {
  const body = { command, stream: true, ...more };
  const response = await send('POST', `/computers/${id}/exec`, body, signal);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const events = serverEvents(response, execEvent);
  return {
    events,
    response,
    requestId: response.headers.get('x-request-id') ?? '',
    /** Resolves with the text so far when it contains these words. */
    async until(words: string): Promise<string> {
      let text = '';
      while (!text.includes(words)) {
        const { value, done } = await events.next();
        if (done) throw new Error(`the stream ended with ${JSON.stringify(text)}`);
        if (value.type === 'output') text += value.data;
      }
      return text;
    },
  };
}

/** Reads a whole stream: its bytes and its last event. */
async function all(events: AsyncIterable<ExecEvent>) {
  const pieces: Buffer[] = [];
  let last: ExecEvent | null = null;
  for await (const event of events) {
    if (event.type === 'output') pieces.push(Buffer.from(event.data, event.encoding));
    last = event;
  }
  return { bytes: Buffer.concat(pieces), last };
}

beforeAll(async () => {
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1' } });
  ({ id } = await firstComputer(stack, { cpu: 1, memory_mb: 1_024 }));
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
});

describe('a stream', () => {
  test('reports its start, output as it is written, and its end', async () => {
    const { events, response, requestId, until } = await stream(
      'echo first; until [ -e go ]; do sleep 0.05; done; echo second >&2; exit 3',
    );
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect((await events.next()).value).toEqual({ type: 'started', exec_id: requestId });
    expect(await until('first\n')).toBe('first\n');
    expect((await call('GET', `/computers/${id}/execs/${requestId}`)).body).toMatchObject({
      id: requestId,
      status: 'running',
      result: null,
    });
    await exec('touch go');
    const { bytes, last } = await all(events);
    expect(bytes.toString()).toBe('second\n');
    expect(last).toMatchObject({ type: 'exit', exit_code: 3 });
  });

  test('delivers all of 30 MB, text and binary, though a whole answer is cut at 1 MB', async () => {
    const text = await all((await stream('seq 1 4000000 | head -c 30000000')).events);
    expect(text.last).toMatchObject({ type: 'exit', exit_code: 0 });
    expect(text.last).not.toHaveProperty('truncated');
    expect(createHash('sha256').update(text.bytes).digest('hex')).toBe(
      (await stdout('seq 1 4000000 | head -c 30000000 | sha256sum')).slice(0, 64),
    );
    await exec('head -c 3000000 /dev/urandom > noise');
    const noise = await all((await stream('cat noise')).events);
    expect(createHash('sha256').update(noise.bytes).digest('hex')).toBe(
      (await stdout('sha256sum noise')).slice(0, 64),
    );
    expect((await exec('cat noise')).body.truncated).toBe(true);
  });

  test('pauses its command while it is not read, and resumes with the reader', async () => {
    const flood = await stream(`python3 -u -c '
import os
block = bytes(range(256)) * 256
for count in range(2000):
    os.write(1, block)
    open("count", "w").write(str(count + 1))
'`);
    await flood.events.next();
    const written = async () => Number((await stdout('cat count 2>/dev/null')) || 0);
    let before = -1;
    await expect
      .poll(
        async () => {
          const now = await written();
          const still = now > 0 && now === before;
          before = now;
          return still;
        },
        { ...PATIENCE, interval: 500 },
      )
      .toBe(true);
    expect(before).toBeLessThan(1_000); // of 2,000 blocks of 64 KiB; the rest is in socket buffers
    const { bytes, last } = await all(flood.events);
    expect(last).toMatchObject({ type: 'exit', exit_code: 0 });
    expect(bytes.length).toBe(2_000 * 65_536);
  });

  test('ends with an error event at its timeout, after the output so far', async () => {
    const { bytes, last } = await all(
      (await stream('echo so far; sleep 60', { timeout: SHORT_TIMEOUT_S })).events,
    );
    expect(bytes.toString()).toBe('so far\n');
    expect(last).toMatchObject({ type: 'error', error: { code: 'command_timed_out', param: null } });
  });

  test('is refused before its command begins; a missing folder ends it with an error event', async () => {
    for (const [body, status, code] of [
      [{ command: '' }, 400, 'invalid_request'],
      [{ command: 'true', timeout: 9_999 }, 400, 'invalid_request'],
      [{ command: 'true', on_disconnect: 'maybe' }, 400, 'invalid_request'],
    ] as const)
      expect(await call('POST', `/computers/${id}/exec`, { ...body, stream: true })).toMatchObject({
        status,
        body: { error: { code } },
      });
    expect(await call('POST', '/computers/cmp_none/exec', { command: 'true', stream: true })).toMatchObject({
      status: 404,
      body: { error: { code: 'computer_not_found' } },
    });
    const { last } = await all((await stream('true', { cwd: '/nowhere' })).events);
    expect(last).toMatchObject({ type: 'error', error: { code: 'invalid_request', param: 'cwd' } });
  });

  test('is complete and separate from concurrent streams', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => all((await stream(`seq ${n} 200000`)).events)),
    );
    for (const [n, { bytes, last }] of answers.entries()) {
      expect(last).toMatchObject({ type: 'exit', exit_code: 0 });
      expect(bytes.toString().startsWith(`${n}\n`)).toBe(true);
      expect(bytes.toString().endsWith('\n200000\n')).toBe(true);
    }
  });
});

describe('a client that goes away', () => {
  test.each([true, false])('ends its command’s whole process tree (stream: %s)', async (streams) => {
    const words = `sleep 47${streams ? 11 : 12}`;
    const gone = new AbortController();
    const body = { command: `setsid ${words} & ${words}`, stream: streams };
    const answer = send('POST', `/computers/${id}/exec`, body, gone.signal);
    answer.catch(() => {});
    await expect.poll(() => countOf(words), PATIENCE).toBeGreaterThan(1);
    gone.abort();
    // Keep a reference until here: `fetch` cancels an unreferenced answer.
    await answer.then((response) => response.body?.cancel()).catch(() => {});
    await expect.poll(() => countOf(words), PATIENCE).toBe(0);
  });

  test.each([true, false])(
    'leaves a continuing command running to its end and its result (stream: %s)',
    async (streams) => {
      const gone = new AbortController();
      const command = `rm -f ended; echo begun > "began-${streams}"; until [ -e "end-${streams}" ]; do sleep 0.05; done; echo all; exit 6`;
      const body = { command, stream: streams, on_disconnect: 'continue' };
      send('POST', `/computers/${id}/exec`, body, gone.signal).catch(() => {});
      await expect.poll(() => stdout(`cat began-${streams}`), PATIENCE).toBe('begun\n');
      gone.abort();
      const running = async (): Promise<ExecObject[]> =>
        (await call('GET', `/computers/${id}/execs`)).body.data.filter(
          ({ status }: ExecObject) => status === 'running',
        );
      // A command that has just ended may be listed as running for another moment.
      await expect.poll(async () => (await running()).length, PATIENCE).toBe(1);
      const path = `/computers/${id}/execs/${(await running())[0]?.id}`;
      expect((await call('GET', path)).body).toMatchObject({ status: 'running', result: null, error: null });
      await exec(`touch end-${streams}`);
      await expect.poll(async () => (await call('GET', path)).body.status, PATIENCE).toBe('finished');
      for (let time = 0; time < 2; time++)
        expect((await call('GET', path)).body).toMatchObject({
          object: 'exec',
          result: { stdout: 'all\n', exit_code: 6 },
          error: null,
        });
    },
  );

  test('finds the timeout of a continued command, and nothing for an unknown id', async () => {
    const more = { timeout: SHORT_TIMEOUT_S, on_disconnect: 'continue' };
    const { events, requestId } = await stream('echo a; sleep 60', more);
    await all(events);
    const path = `/computers/${id}/execs/${requestId}`;
    await expect.poll(async () => (await call('GET', path)).body.status, PATIENCE).toBe('finished');
    const { body } = await call('GET', path);
    expect(body).toMatchObject({ status: 'finished', result: null, error: { code: 'command_timed_out' } });
    expect(body.error.details.stdout).toBe('a\n');
    expect(await call('GET', `/computers/${id}/execs/req_none`)).toMatchObject({
      status: 404,
      body: { error: { code: 'exec_not_found' } },
    });
  });
});

describe('files of /workspace', () => {
  const files = (path: string) => `${stack.url}/v1/computers/${id}/files?path=${encodeURIComponent(path)}`;
  const headers = () => ({ authorization: `Bearer ${stack.key}` });
  const get = (path: string, more: Record<string, string> = {}) =>
    fetch(files(path), { headers: { ...headers(), ...more } });
  const put = (path: string, body: Buffer | ReadableStream) =>
    fetch(files(path), {
      method: 'PUT',
      headers: { ...headers(), 'content-type': 'application/x-anything' },
      body,
      ...(Buffer.isBuffer(body) ? {} : { duplex: 'half' }),
    } as RequestInit);
  const remove = (path: string, more = '') =>
    fetch(files(path) + more, { method: 'DELETE', headers: headers() });
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

  test('20 MB are the same both ways, seen from inside too, and in ranges', async () => {
    const bytes = randomBytes(20_000_000);
    const written = await put('deep/down/file.bin', bytes);
    expect(written.status).toBe(200);
    expect(await written.json()).toEqual({
      path: '/workspace/deep/down/file.bin',
      bytes: 20_000_000,
      sha256: sha256(bytes),
    });
    expect((await stdout('sha256sum deep/down/file.bin')).slice(0, 64)).toBe(sha256(bytes));
    const read = await get('/workspace/deep/down/file.bin');
    expect(Object.fromEntries(read.headers)).toMatchObject({
      'content-length': '20000000',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    });
    expect(sha256(await read.bytes())).toBe(sha256(bytes));
    const etag = read.headers.get('etag') ?? '';
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1],
      ['bytes=19999990-', 19_999_990, 20_000_000],
      ['bytes=-5', 19_999_995, 20_000_000],
      ['bytes=5000000-6999999', 5_000_000, 7_000_000],
    ] as const) {
      const part = await get('deep/down/file.bin', { range, 'if-range': etag });
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/20000000`);
      expect(Buffer.from(await part.bytes()).equals(bytes.subarray(start, end))).toBe(true);
    }
    const changed = await get('deep/down/file.bin', { range: 'bytes=0-0', 'if-range': '"other"' });
    expect([changed.status, (await changed.bytes()).length]).toEqual([200, 20_000_000]);
    const beyond = await get('deep/down/file.bin', { range: 'bytes=20000000-' });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */20000000']);
    const only = await fetch(files('deep/down/file.bin'), { method: 'HEAD', headers: headers() });
    expect([only.status, only.headers.get('content-length')]).toEqual([200, '20000000']);
  });

  test('a body in chunks, an empty one, and what a command wrote', async () => {
    const pieces = [randomBytes(1_000_000), randomBytes(7), randomBytes(2_000_000)];
    const written = await put('chunked', ReadableStream.from(pieces) as ReadableStream);
    expect(await written.json()).toMatchObject({ bytes: 3_000_007, sha256: sha256(Buffer.concat(pieces)) });
    expect((await put('empty', Buffer.alloc(0))).status).toBe(200);
    expect(await (await get('empty')).text()).toBe('');
    await exec('mkdir -p made; echo by a command > made/file; ln -s file made/link');
    expect(await (await get('made/file')).text()).toBe('by a command\n');
    expect(await (await get('made')).json()).toMatchObject({
      object: 'folder',
      path: '/workspace/made',
      entries: [
        { name: 'file', type: 'file', bytes: 13 },
        { name: 'link', type: 'link' },
      ],
      has_more: false,
    });
    expect((await remove('made')).status).toBe(400);
    expect(await (await remove('made', '&recursive=true')).json()).toEqual({
      path: '/workspace/made',
      deleted: true,
    });
    for (const answer of [await get('made'), await remove('made')])
      expect(await answer.json()).toMatchObject({ error: { code: 'path_not_found', param: 'path' } });
  });

  test('links and .. cannot leave /workspace, for reading, writing or deleting', async () => {
    await exec('ln -sf /etc/passwd out; ln -sfn / root; ln -sfn /workspace/.. up; echo safe > /tmp/victim');
    for (const path of ['../x', '/etc/passwd', 'a/../../x', 'root/etc/passwd', 'up/x'])
      for (const answer of [await get(path), await put(path, Buffer.from('x')), await remove(path)])
        expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
          400,
          'invalid_request',
        ]);
    expect((await get('out')).status).toBe(400);
    // A link in the file's place is replaced or removed itself; its target stays unchanged.
    await exec('ln -sf /tmp/victim a; ln -sf /tmp/victim b');
    expect((await put('a', Buffer.from('mine'))).status).toBe(200);
    expect((await remove('b')).status).toBe(200);
    expect(await stdout('cat /tmp/victim a; ls b 2>&1 | wc -l; head -c 4 /etc/passwd')).toBe(
      'safe\nmine1\nroot',
    );
  });

  test('an incomplete upload leaves no file and keeps the previous one', async () => {
    await put('kept', Buffer.from('before'));
    for (const path of ['kept', 'never']) {
      const { hostname, port } = new URL(stack.url);
      const socket = connect(Number(port), hostname).on('error', () => {}); // the edge may reset it
      socket.write(
        `PUT /v1/computers/${id}/files?path=${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${stack.key}\r\ncontent-length: 1000000\r\n\r\n`,
      );
      socket.write(Buffer.alloc(400_000));
      await exec('sleep 0.2');
      socket.destroy();
    }
    expect(await (await get('kept')).text()).toBe('before');
    expect((await get('never')).status).toBe(404);
  });

  test('of a stopped computer are unavailable until it starts', async () => {
    const other = (await call('POST', '/computers', { cpu: 0.25, memory_mb: 512 })).body.id;
    const path = `/computers/${other}/files?path=f`;
    expect((await send('PUT', path, { a: 1 })).status).toBe(200);
    await call('POST', `/computers/${other}/stop`);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(await call(method, path, method === 'PUT' ? {} : undefined)).toMatchObject({
        status: 409,
        body: { error: { code: 'computer_not_running' } },
      });
    expect((await call('GET', `/computers/${other}/metrics`)).status).toBe(409);
    await call('POST', `/computers/${other}/start`);
    expect(await (await send('GET', path)).json()).toEqual({ a: 1 });
    await call('DELETE', `/computers/${other}`);
  });
});

test('metrics follow the activity of the computer', async () => {
  const metrics = async () => (await call('GET', `/computers/${id}/metrics`)).body;
  const before = await metrics();
  expect(before).toMatchObject({ object: 'computer_metrics', cpu: { cores_max: expect.any(Number) } });
  await exec(`(while :; do :; done) & echo $! > burning
python3 -c 'import time; x = bytearray(150 << 20); open("holding", "w"); time.sleep(300)' & echo $! >> burning
until [ -e holding ]; do sleep 0.05; done`);
  await expect.poll(async () => (await metrics()).cpu.cores_used, PATIENCE).toBeGreaterThan(0.05);
  const busy = await metrics();
  expect(busy.cpu.seconds).toBeGreaterThan(before.cpu.seconds);
  expect(busy.memory.bytes - before.memory.bytes).toBeGreaterThan(100 << 20);
  expect(busy.processes.count).toBeGreaterThan(before.processes.count);
  await exec('kill $(cat burning)');
});

describe('kill -9', () => {
  test('of the agent: a stream ends with an error event, and its command is killed', async () => {
    const { events, until } = await stream('echo on; sleep 4721');
    await until('on\n');
    const { back } = await stack.kill9('computer-agent');
    expect((await all(events)).last).toMatchObject({ type: 'error', error: { code: 'service_unavailable' } });
    await back;
    await expect
      .poll(() => countOf('sleep 4721').catch(() => -1), { timeout: 100_000, interval: 500 })
      .toBe(0);
  });

  test('of the agent: a caller who waits for the whole answer gets the result of the single run', async () => {
    const waiting = exec('echo run >> runs; until [ -e finish ]; do sleep 0.05; done; echo result; exit 5');
    await expect.poll(() => stdout('cat runs'), PATIENCE).toBe('run\n');
    const { back } = await stack.kill9('computer-agent');
    await back;
    await expect.poll(async () => (await exec('touch finish')).status, PATIENCE).toBe(200);
    expect(await waiting).toMatchObject({ status: 200, body: { stdout: 'result\n', exit_code: 5 } });
    expect(await stdout('cat runs')).toBe('run\n');
  });

  test('of the agent: a continuing command survives, and its result is available afterwards', async () => {
    const { until, requestId } = await stream(
      'echo on; until [ -e over ]; do sleep 0.05; done; echo after; exit 8',
      { on_disconnect: 'continue' },
    );
    await until('on\n');
    const { back } = await stack.kill9('computer-agent');
    await back;
    await expect.poll(async () => (await exec('touch over')).status, PATIENCE).toBe(200);
    const path = `/computers/${id}/execs/${requestId}`;
    await expect.poll(async () => (await call('GET', path)).body.status, PATIENCE).toBe('finished');
    expect((await call('GET', path)).body.result).toMatchObject({ stdout: 'on\nafter\n', exit_code: 8 });
  });

  test('of the edge: commands end with it, except continuing ones', async () => {
    const killed = await stream('echo on; sleep 4731');
    const continued = await stream('echo on; sleep 4732', { on_disconnect: 'continue' });
    await Promise.all([killed.until('on\n'), continued.until('on\n')]);
    const { back } = await stack.kill9('edge');
    await Promise.all([killed, continued].map(({ events }) => all(events).catch(() => {})));
    await back;
    await expect.poll(() => countOf('sleep 4731').catch(() => -1), PATIENCE).toBe(0);
    expect(await countOf('sleep 4732')).toBe(1);
    await exec('pkill -f "[s]leep 4732"');
    const path = `/computers/${id}/execs/${continued.requestId}`;
    await expect.poll(async () => (await call('GET', path)).body.status, PATIENCE).toBe('finished');
    expect((await call('GET', path)).body.result).toMatchObject({ stdout: expect.stringContaining('on\n') });
  });
});
