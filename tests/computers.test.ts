// Computers on the full stack: HTTP, edge, control, agent, Docker, and the bill; with services killed in between.
import { isDeepStrictEqual } from 'node:util';
import { type ComputerObject, STANDARD_IMAGE } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from './__fixtures__/first-computer.ts';

/** For a command that writes something and then exceeds it. */
const SHORT_TIMEOUT_S = 10;
const SERVES_AGAIN_MS_MAX = 60_000;
const KILLS_TEST_MS_MAX = 600_000;

let stack: TestStack;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  readonly body: any;
}

async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${stack.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const exec = (id: string, body: unknown) => call('POST', `/computers/${id}/exec`, body);

async function createComputer(body: object = { cpu: 0.25, memory_mb: 512 }): Promise<ComputerObject> {
  const { status, body: computer } = await call('POST', '/computers', body);
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(computer)}`);
  return computer;
}

/** Dollars and minutes of one computer, as the bill has them. */
async function billed(id: string): Promise<{ cost: number; minutes: number }> {
  const { body } = await call('GET', '/usage?group_by=computer');
  const row = body.data.find(({ group }: { group: string }) => group === id);
  return { cost: row?.cost ?? 0, minutes: row?.quantities.minutes ?? 0 };
}

beforeAll(async () => {
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1' } });
  await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
});

test('a life over HTTP, and its bill', async () => {
  const metadata = { team: 'search' };
  const created = await call('POST', '/computers', { name: 'mine', cpu: 0.5, memory_mb: 512, metadata });
  expect(created.status).toBe(201);
  const { id } = created.body;
  expect(created.body).toMatchObject({
    name: 'mine',
    status: 'running',
    image: STANDARD_IMAGE,
    minutes: 0,
    cost: 0,
    metadata,
  });
  expect((await exec(id, { command: "python3 -c 'print(6*7)'; echo kept > f; exit 3" })).body).toMatchObject({
    stdout: '42\n',
    stderr: '',
    exit_code: 3,
  });
  const stopped = await call('POST', `/computers/${id}/stop`);
  expect(stopped).toMatchObject({
    status: 200,
    body: { status: 'stopped', stop_reason: 'user', minutes: 1 },
  });
  const refused = await exec(id, { command: 'true' });
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'computer_not_running' } } });
  expect(refused.headers.get('x-should-retry')).toBe('false');
  expect((await call('POST', `/computers/${id}/start`)).body).toMatchObject({ status: 'running' });
  expect((await exec(id, { command: 'cat f' })).body.stdout).toBe('kept\n');
  // The record's idle time follows a command with a delay, which may fall between the two.
  const listedAsShown = async () => {
    const [listed, shown] = [await call('GET', '/computers'), await call('GET', `/computers/${id}`)];
    return isDeepStrictEqual(listed.body.data, [shown.body]) || { listed: listed.body, shown: shown.body };
  };
  await expect.poll(listedAsShown).toBe(true);
  expect((await call('DELETE', `/computers/${id}`)).body).toEqual({ id, object: 'computer', deleted: true });
  for (const [method, path] of [
    ['GET', `/computers/${id}`],
    ['DELETE', `/computers/${id}`],
    ['POST', `/computers/${id}/start`],
    ['POST', `/computers/${id}/stop`],
  ] as const)
    expect(await call(method, path)).toMatchObject({
      status: 404,
      body: { error: { code: 'computer_not_found' } },
    });
  expect(await exec(id, { command: 'true' })).toMatchObject({ status: 404 });
  // 0.0001 + 0.5 x 0.0008 + 0.5 x 0.0001 + 10 x 0.000002 dollars a minute, one for each run
  await expect.poll(() => billed(id)).toEqual({ cost: 0.00114, minutes: 2 });
  const byTeam = await call('GET', '/usage?group_by=tag:team');
  expect(byTeam.body.data).toContainEqual(expect.objectContaining({ group: 'search', cost: 0.00114 }));
});

describe('bad input', () => {
  test.each([
    [{ cpu: 4.25 }, 'invalid_request', 'cpu'],
    [{ cpu: 0 }, 'invalid_request', 'cpu'],
    [{ cpu: 0.3 }, 'invalid_request', 'cpu'],
    [{ cpu: '1' }, 'invalid_request', 'cpu'],
    [{ memory_mb: 256 }, 'invalid_request', 'memory_mb'],
    [{ memory_mb: 8_448 }, 'invalid_request', 'memory_mb'],
    [{ memory_mb: 1_000 }, 'invalid_request', 'memory_mb'],
    [{ memory_mb: null }, 'invalid_request', 'memory_mb'],
    [{ idle_stop_minutes: 481 }, 'invalid_request', 'idle_stop_minutes'],
    [{ idle_stop_minutes: 0 }, 'invalid_request', 'idle_stop_minutes'],
    [{ idle_stop_minutes: 1.5 }, 'invalid_request', 'idle_stop_minutes'],
    [{ image: 'not an image' }, 'invalid_request', 'image'],
    [{ image: `a/${'x'.repeat(511)}` }, 'invalid_request', 'image'],
    [{ name: 'x'.repeat(101) }, 'invalid_request', 'name'],
    // A request may not choose what the platform sets for every computer.
    [{ disk_gb: 10 }, 'unknown_field', 'disk_gb'],
    [{ max_lifetime_minutes: 480 }, 'unknown_field', 'max_lifetime_minutes'],
    [{ burst: { cpu: 4 } }, 'unknown_field', 'burst'],
    [{ image: 'localhost:1/none:latest' }, 'image_unavailable', undefined],
    [{ name: '' }, 'invalid_request', 'name'],
    [{ metadata: { team: '' } }, 'invalid_request', 'metadata.team'],
    [{ disk: 10 }, 'unknown_field', 'disk'],
    ['{', 'invalid_json', undefined],
    ['[]', 'invalid_request', undefined],
  ])('a creation of %j is 400 %s', async (body, code, param) => {
    const answer = await call('POST', '/computers', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code } } });
    if (param !== undefined) expect(answer.body.error.param).toBe(param);
  });

  test('the largest and the smallest computer, and the longest name, are accepted', async () => {
    const options = (await call('GET', '/computers/options')).body;
    for (const [edge, name] of [
      ['max', 'x'.repeat(100)],
      ['min', 'x'],
    ] as const) {
      const size = { cpu: options.cpu[edge], memory_mb: options.memory_mb[edge] };
      const { id, ...made } = await createComputer({ ...size, name });
      expect(made).toMatchObject({ ...size, name, status: 'running' });
      expect((await exec(id, { command: 'true' })).body.exit_code).toBe(0);
      await call('DELETE', `/computers/${id}`);
    }
  });

  test('links and terminals at their limits; one past them is named', async () => {
    const { id } = await createComputer();
    const link = (body: object) => call('POST', `/computers/${id}/links`, body);
    for (const body of [
      { port: 1, minutes: 1 },
      { port: 65_535, minutes: 480 },
    ])
      expect((await link(body)).status).toBe(201);
    for (const [body, param] of [
      [{ port: 0 }, 'port'],
      [{ port: 65_536 }, 'port'],
      [{ minutes: 0 }, 'minutes'],
      [{ minutes: 481 }, 'minutes'],
    ] as const)
      expect(await link(body)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', param } },
      });
    await call('DELETE', `/computers/${id}`);
  });

  test('a command’s limits: each setting at fault is named, a timeout is 422 with the output so far', async () => {
    const { id } = await createComputer();
    for (const [body, param] of [
      [{}, 'command'],
      [{ command: '' }, 'command'],
      [{ command: 7 }, 'command'],
      [{ command: 'x'.repeat(65_537) }, 'command'],
      [{ command: 'true', timeout: 3_601 }, 'timeout'],
      [{ command: 'true', timeout: 0 }, 'timeout'],
      [{ command: 'true', timeout: 1.5 }, 'timeout'],
    ] as const)
      expect(await exec(id, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', param } },
      });
    expect((await exec(id, { command: `true ${'x'.repeat(65_531)}`, timeout: 3_600 })).status).toBe(200);
    expect(await exec(id, { command: 'echo so far; sleep 60', timeout: SHORT_TIMEOUT_S })).toMatchObject({
      status: 422,
      body: { error: { code: 'command_timed_out', details: { stdout: 'so far\n' } } },
    });
    await call('DELETE', `/computers/${id}`);
  });
});

test('a computer outlives kill -9 of its agent, of control, of the edge and of NATS; its minutes are billed once', {
  timeout: KILLS_TEST_MS_MAX,
}, async () => {
  const { id } = await createComputer();
  expect((await exec(id, { command: 'echo 1 > runs' })).status).toBe(200);
  for (const service of ['computer-agent', 'control', 'edge', 'nats']) {
    const { back } = await stack.kill9(service);
    await back;
    await expect
      .poll(
        async () =>
          (await exec(id, { command: `echo ${service} >> runs; cat runs` }).catch(() => null))?.body.stdout,
        {
          timeout: SERVES_AGAIN_MS_MAX,
          interval: 200,
        },
      )
      .toContain(service);
  }
  const { body: stopped } = await call('POST', `/computers/${id}/stop`);
  expect(stopped).toMatchObject({ status: 'stopped', stop_reason: 'user' });
  await expect.poll(() => billed(id)).toEqual({ cost: stopped.cost, minutes: stopped.minutes });
  expect(stopped.minutes).toBeGreaterThanOrEqual(1);
  await call('DELETE', `/computers/${id}`);
  expect((await call('GET', '/computers')).body.data).toEqual([]);
});
