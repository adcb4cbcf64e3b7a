// A file that a caller names by URL reserves memory before it is downloaded.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError } from '@switchyard/contracts';
import { createEgress, parseAllowList } from '@switchyard/egress';
import { ByteBudget } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callersFiles } from './callers-files.ts';

const MIB = 1024 * 1024;
const { signal } = new AbortController();
const server = createServer((request, response) => {
  const bytes = Buffer.alloc(Number(request.url?.slice(1)) * MIB);
  response.setHeader('content-type', 'image/png');
  response.setHeader('content-length', bytes.length);
  response.end(bytes);
});
let origin: string;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

function filesOf(reserve: (bytes: number) => Promise<{ keep(bytes: number): void }>) {
  const egress = createEgress({ allow: parseAllowList(new URL(origin).host) });
  return callersFiles(egress, { signal, reserve });
}

test('a large file reserves four times its bytes, a small one nothing', async () => {
  const budget = new ByteBudget({ bytesMax: 128 * MIB, clock: new FakeClock() });
  const files = filesOf((bytes) => budget.take(bytes, { org: 'org_a', signal }));
  await files.fetch(`${origin}/1`, 'image/*', 'messages.0');
  expect(budget.held).toBe(0);
  await files.fetch(`${origin}/3`, 'image/*', 'messages.0');
  expect(budget.held).toBe(12 * MIB);
});

test('without room the file is not downloaded, and the URL is not blamed', async () => {
  const closed = new Promise<void>((resolve) => {
    server.once('request', (request) => request.socket.once('close', () => resolve()));
  });
  const noRoom = new ServiceError('service_unavailable', 'No memory. Retry later.');
  const files = filesOf(() => Promise.reject(noRoom));
  await expect(files.fetch(`${origin}/20`, 'image/*', 'messages.0')).rejects.toBe(noRoom);
  await closed;
});
