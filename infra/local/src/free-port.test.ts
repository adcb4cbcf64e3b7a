import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, isFree } from './free-port.ts';

const HOST = '127.0.0.1';

async function listen(port: number): Promise<void> {
  const server = createServer();
  server.listen(port, HOST);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
}

test('a free port can be listened on, and is outside the range of outgoing connections', async () => {
  const port = await freePort(HOST);
  expect(port).toBeGreaterThanOrEqual(20_000);
  expect(port).toBeLessThan(32_768);
  await listen(port);
  expect(await isFree(HOST, port)).toBe(false);
});

test('the preferred port is taken if it is free, else another', async () => {
  const preferred = await freePort(HOST);
  expect(await freePort(HOST, preferred)).toBe(preferred);
  await listen(preferred);
  expect(await freePort(HOST, preferred)).not.toBe(preferred);
});
