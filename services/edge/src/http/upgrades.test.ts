// How connections end that are, or were about to become, WebSockets.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { serve } from '@switchyard/bus';
import { hostSubject } from '@switchyard/contracts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addComputer } from '../__fixtures__/test-computer.ts';
import { refusesConnections, startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
beforeEach(async () => {
  edge = await startTestEdge();
});
afterEach(() => edge?.stop());

/** A client that never closes its half of the connection. */
function ask(path: string, ...headers: string[]): Socket {
  const client = connect({ port: edge.port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1');
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`;
  client.write(`${[`GET ${path} HTTP/1.1`, 'Host: edge', ...upgrade, key, ...headers].join('\r\n')}\r\n\r\n`);
  return client;
}

async function heardOf(client: Socket): Promise<string> {
  let heard = '';
  for await (const chunk of client) heard += chunk;
  return heard;
}

test('a refused upgrade is closed although its client keeps it open, and does not block the shutdown', async () => {
  const client = ask('/v1/links/not-a-link/');
  try {
    expect(await heardOf(client)).toMatch(/^HTTP\/1.1 403 /);
    await edge.drain();
  } finally {
    client.destroy();
  }
});

test('an upgrade that is accepted while the edge drains is closed', async () => {
  const { id, host } = await addComputer(edge);
  const asked = Promise.withResolvers<() => void>();
  const service = await serve(edge.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  service.stream(hostSubject(host, 'terminal'), async (call) => {
    await new Promise<void>((resolve) => asked.resolve(resolve));
    call.write(Buffer.alloc(0));
  });
  const client = ask(`/v1/computers/${id}/terminal`, `Authorization: Bearer ${await edge.addKey()}`);
  try {
    const open = await asked.promise;
    const drained = edge.drain();
    await expect.poll(() => refusesConnections(edge)).toBe(true); // draining has begun
    open();
    await drained;
  } finally {
    client.destroy();
  }
});

/** The timer state of a connection in /proc/net/tcp: 2 is the keep-alive probe. */
const PROBING = '02';

test('the kernel probes silent clients', async () => {
  const client = connect(edge.port, '127.0.0.1');
  try {
    client.write('GET /livez HTTP/1.1\r\nHost: edge\r\n\r\n');
    await once(client, 'data');
    const address = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const timer = async () => {
      const table = (await readFile('/proc/net/tcp', 'latin1'))
        .split('\n')
        .map((line) => line.trim().split(/\s+/));
      const [connection] = table.filter(
        ([, local, remote]) => local === address(edge.port) && remote === address(client.localPort ?? 0),
      );
      return connection?.[5];
    };
    await expect.poll(timer).toMatch(new RegExp(`^${PROBING}:`)); // another until the answer is acknowledged
  } finally {
    client.destroy();
  }
});
