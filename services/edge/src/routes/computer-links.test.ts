// Links before and after they expire, with a clock that the test controls. No server listens behind them.
import { openBucket, serve } from '@switchyard/bus';
import { DEFAULT_ORG, type ErrorCode, hostSubject, recordKey, ServiceError } from '@switchyard/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addComputer, type HeardComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let id: string;
let beat: HeardComputer['beat'];
const MINUTE_MS = 60_000;
let edge: TestEdge;

beforeAll(async () => {
  edge = await startTestEdge();
  const computer = await addComputer(edge);
  id = computer.id;
  beat = computer.beat;
  const service = await serve(edge.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  service.stream(hostSubject(computer.host, 'port'), async () => {
    throw new ServiceError('port_unreachable', 'The port is closed.');
  });
});
afterAll(() => edge?.stop());
beforeEach(() => beat());

async function linkOf(key: string, minutes: number): Promise<{ url: string; expires_at: string }> {
  const response = await fetch(`${edge.url}/v1/computers/${id}/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ port: 3_000, minutes }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as { url: string; expires_at: string };
}

async function codeAt(url: string): Promise<[number, ErrorCode]> {
  const response = await fetch(url);
  const { error } = (await response.json()) as { error: { code: ErrorCode } };
  return [response.status, error.code];
}

const OPEN = [502, 'port_unreachable'];

test('a link is valid to its last second and not longer', async () => {
  const before = edge.clock.now();
  const { url, expires_at } = await linkOf(await edge.addKey(), 480);
  expect(Math.abs(Date.parse(expires_at) - before - 480 * MINUTE_MS)).toBeLessThan(1_000);
  const left = Date.parse(expires_at) - edge.clock.now();
  edge.clock.advance(left - 1);
  await beat();
  expect(await codeAt(url)).toEqual(OPEN);
  edge.clock.advance(1);
  expect(await codeAt(url)).toEqual([403, 'url_expired']);
});

test('a link ends when its key is revoked, expires, or may no longer use computers', async () => {
  const [revoked, expiring, lesser] = [await edge.addKey(), await edge.addKey(), await edge.addKey()];
  await edge.changeKey(expiring, { expires_at: new Date(edge.clock.now() + MINUTE_MS).toISOString() });
  const links = await Promise.all([revoked, expiring, lesser].map((key) => linkOf(key, 10)));
  const codes = () => Promise.all(links.map(({ url }) => codeAt(url)));
  expect(await codes()).toEqual([OPEN, OPEN, OPEN]);

  await edge.revokeKey(revoked);
  await edge.changeKey(lesser, { permissions: ['computers:read'] });
  edge.clock.advance(MINUTE_MS);
  await expect.poll(codes).toEqual([
    [401, 'invalid_api_key'],
    [401, 'expired_api_key'],
    [403, 'permission_denied'],
  ]);
});

test('a token that was not signed here, or was altered, opens nothing', async () => {
  const { url } = await linkOf(await edge.addKey(), 10);
  const token = new URL(url).pathname.split('/')[3]!;
  const [payload = '', signature = ''] = token.split('.');
  const target = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const forged = Buffer.from(JSON.stringify({ ...target, port: 22 })).toString('base64url');
  for (const other of [
    `${forged}.${signature}`,
    payload,
    `${payload}.`,
    `.${signature}`,
    'x',
    `${token}A`.slice(1),
  ])
    expect(await codeAt(url.replace(token, other))).toEqual([403, 'url_not_valid']);
});

test('a computer that was deleted gets no link', async () => {
  const deleted = await addComputer(edge);
  const key = await edge.addKey();
  const ask = () =>
    fetch(`${edge.url}/v1/computers/${deleted.id}/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ port: 3_000 }),
    });
  expect((await ask()).status).toBe(201); // the edge now knows its host
  await (await openBucket(edge.bus, 'computers')).delete(recordKey({ ...deleted, org: DEFAULT_ORG }));
  const response = await ask();
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: 'computer_not_found' } });
});
