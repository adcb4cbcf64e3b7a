// Connections to a maker whose TLS handshakes never end, on a real socket.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createMakersAgent } from './makers-agent.ts';

test('a handshake that hangs holds up no other call to the same maker', async () => {
  const sockets: Socket[] = [];
  const both = Promise.withResolvers<string>();
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    if (sockets.length === 2) both.resolve('both connect at once');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = createMakersAgent();
  try {
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const calls = [1, 2].map(() => agent.request({ origin, path: '/', method: 'POST' }));
    const failed = Promise.race(calls).catch((error: Error) => `one fails first: ${error.message}`);
    void Promise.allSettled(calls);
    expect(await Promise.race([both.promise, failed])).toBe('both connect at once');
  } finally {
    await agent.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}, 30_000);
