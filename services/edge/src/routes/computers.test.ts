import { setTimeout as delay } from 'node:timers/promises';
import { type ServiceHost, serve } from '@switchyard/bus';
import {
  type ComputerObject,
  type ErrorCode,
  type HostExecRequest,
  ServiceError,
} from '@switchyard/contracts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addComputer, addSilentComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
let authorization: string;
/** The error with which host and control answer. */
let code: ErrorCode;

let id: string;

const refuse = async () => {
  throw new ServiceError(code, `of the test: ${code}`);
};
/** A host that ran no command: it knows no result when asked to resume. */
const refuseExec = async ({ resume }: HostExecRequest) => {
  if (resume)
    throw new ServiceError('computer_failed', 'no such exec', { details: { reason: 'unknown_exec' } });
  return refuse();
};

beforeAll(async () => {
  edge = await startTestEdge();
  authorization = `Bearer ${await edge.addKey()}`;
  const service: ServiceHost = await serve(edge.bus, {
    name: 'host',
    version: '0.0.1',
    description: 'of a test',
  });
  const computer = await addComputer(edge);
  id = computer.id;
  for (const verb of ['start', 'stop'] as const) service.handleHost(computer.host, verb, refuse);
  service.handleHost(computer.host, 'exec', refuseExec);
  service.handle('computers.create', refuse);
});
afterAll(async () => {
  await edge?.stop();
  vi.restoreAllMocks();
});

const post = (path: string, init: RequestInit & { type?: string } = {}) =>
  fetch(edge.url + path, {
    method: 'POST',
    ...init,
    headers: { authorization, ...(init.type === undefined ? {} : { 'content-type': init.type }) },
  });
const exec = () =>
  post(`/v1/computers/${id}/exec`, { type: 'application/json', body: JSON.stringify({ command: 'true' }) });
const create = () => post('/v1/computers', { type: 'application/json', body: '{}' });

describe('start and stop', () => {
  test.each([
    ['an empty string, which fetch calls text/plain', { body: '' }],
    ['JSON', { body: '{"odd": true}', type: 'application/json' }],
    ['invalid JSON', { body: '{', type: 'application/json' }],
    ['a form', { body: 'a=b', type: 'application/x-www-form-urlencoded' }],
    ['an invalid type', { body: 'a', type: 'nonsense' }],
    ['nothing at all', {}],
  ])('ignore a body: %s', async (_what, init) => {
    code = 'computer_busy';
    for (const verb of ['start', 'stop'])
      expect((await post(`/v1/computers/${id}/${verb}`, init)).status).toBe(409);
  });

  test('refuse a body over the limits; routes that need a body answer 415 to another type', async () => {
    const body = 'x'.repeat(300 * 1024);
    expect((await post(`/v1/computers/${id}/start`, { body })).status).toBe(413);
    expect((await post(`/v1/computers/${id}/exec`, { body: '{"command":"true"}' })).status).toBe(415);
  });
});

test.each<[ErrorCode, string | null]>([
  ['service_unavailable', 'false'],
  ['computer_failed', 'false'],
  ['internal_error', 'false'],
  ['no_capacity', 'true'],
  ['invalid_request', null],
])('of create and exec, %s has x-should-retry: %s', async (thrown, shouldRetry) => {
  code = thrown;
  for (const send of [create, exec]) expect((await send()).headers.get('x-should-retry')).toBe(shouldRetry);
});

test('service_unavailable of start, which is repeatable, says so', async () => {
  code = 'service_unavailable';
  expect((await post(`/v1/computers/${id}/start`)).headers.get('x-should-retry')).toBe('true');
});

test.each<[ErrorCode, number]>([
  ['computer_not_running', 409],
  ['command_timed_out', 422],
  ['computer_not_found', 404],
])('a call refused with %s is logged under its computer', async (thrown, status) => {
  code = thrown;
  const response = await exec();
  expect(response.status).toBe(status);
  const requestId = response.headers.get('x-request-id');
  const { data } = await edge.events.until(
    'refused',
    (event) =>
      event.type === 'call.refused' && 'request_id' in event.data && event.data.request_id === requestId,
  );
  expect(data).toMatchObject({ computer_id: id, type: null, http_status: status, error_code: thrown });
});

test('a call to a computer whose host is silent is refused at once, with the reason', async () => {
  const { id: lost } = await addSilentComputer(edge);
  const ask = async (path: string, body: object) => {
    const init = { type: 'application/json', body: JSON.stringify(body) };
    const response = await post(`/v1/computers/${lost}${path}`, init);
    return { status: response.status, ...((await response.json()) as object) };
  };
  const unreachable = {
    status: 503,
    error: { code: 'service_unavailable', message: expect.stringContaining('unreachable') },
  };
  const calls = [
    ['/exec', { command: 'true' }],
    ['/start', {}],
    ['/links', {}],
  ] as const;
  for (const [path, body] of calls) expect(await ask(path, body)).toMatchObject(unreachable);
});

test.each([
  ['exec', { command: 'true' }],
  ['desktop', {}],
])('%s on a computer whose host is silent leaves its Idempotency-Key free', async (path, body) => {
  const { id: lost } = await addSilentComputer(edge);
  const headers = {
    authorization,
    'content-type': 'application/json',
    'idempotency-key': `${path}-${lost}`,
  };
  const ask = async () => {
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${edge.url}/v1/computers/${lost}/${path}`, init);
    return [answer.status, answer.headers.get('idempotent-replayed')];
  };
  expect(await ask()).toEqual([503, null]);
  expect(await ask()).toEqual([503, null]);
});

/** The bus checks the deadlines of its calls four times a second. */
const DEADLINES_CHECKED_MS = 1_000;

test('a start whose host pulls the image for longer than 300 s is answered when the computer runs', async () => {
  const { id: pulling, host } = await addComputer(edge);
  const service = await serve(edge.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  service.handleHost(host, 'start', async () => {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 310_000);
    await delay(DEADLINES_CHECKED_MS);
    return { id: pulling, status: 'running' } as ComputerObject;
  });
  const response = await post(`/v1/computers/${pulling}/start`);
  expect([response.status, await response.json()]).toEqual([200, { id: pulling, status: 'running' }]);
});
