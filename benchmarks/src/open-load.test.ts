import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { callAtRate, sentOf } from './open-load.ts';

test('counts served, shed, refused and broken calls apart, and the seconds until the last answer', async () => {
  const statuses = [200, 503, 429, 0];
  const counts = [0, 0, 0, 0];
  let calls = 0;
  const server = createServer((request, response) => {
    const kind = calls % statuses.length;
    calls += 1;
    counts[kind]! += 1;
    if (statuses[kind] === 0) request.socket.destroy();
    else response.writeHead(statuses[kind]!).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

  const arrivals = await callAtRate({ url, key: 'k', model: 'm' }, { perSecond: 200, seconds: 0.1 });
  const { took, shed, refused, broken, unsent, sendingSeconds, seconds } = arrivals;
  expect([took.length, shed, refused, broken]).toEqual(counts);
  expect(broken).toBeGreaterThan(0);
  expect(unsent).toBe(0);
  expect(sentOf(arrivals)).toBe(calls);
  expect(sendingSeconds).toBeGreaterThanOrEqual(0.1);
  expect(seconds).toBeGreaterThanOrEqual(sendingSeconds);
});
