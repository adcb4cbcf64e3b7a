// A terminal over WebSocket whose shell reads only when the test does, with a clock that the test controls.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { FakeClock } from '@switchyard/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { CallStream } from './call-stream.ts';
import { serveTerminal } from './terminal-socket.ts';

/** Two pings and a second. */
const SILENCE_MS = 61_000;
const PASTED = Buffer.alloc(512 * 1024, 'x');

let server: Server;
let client: WebSocket;
let clock: FakeClock;
let terminal: CallStream;
/** What the shell shows, and what it has not read yet. */
let output: PassThrough;
let keys: PassThrough;

beforeEach(async () => {
  clock = new FakeClock();
  output = new PassThrough();
  keys = new PassThrough();
  const body = output[Symbol.asyncIterator]();
  terminal = new CallStream({ head: null, body, end: Promise.resolve(null), cancel() {} }, keys);
  server = createServer().on('upgrade', (request, socket, head) => {
    const asked = { request, requestId: 'req_1', upgrade: { head, socket, accept: () => socket } };
    void serveTerminal(asked, terminal, clock);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(client, 'open');
});
afterEach(() => {
  client.terminate();
  server.close();
});

/** The next output that the client gets, or null when it is disconnected. */
function shown(): Promise<string | null> {
  return Promise.race([
    once(client, 'message').then(([bytes]) => String(bytes)),
    once(client, 'close').then(() => null),
  ]);
}

test('a terminal whose shell reads nothing stays open', async () => {
  client.send(PASTED);
  await expect.poll(() => terminal.writableNeedDrain).toBe(true);
  const next = shown();
  clock.advance(SILENCE_MS);
  output.write('busy');
  expect(await next).toBe('busy');
});

test('a client that does not answer pings is disconnected, also after its shell has read all', async () => {
  client.send(PASTED);
  await expect.poll(() => terminal.writableNeedDrain).toBe(true);
  clock.advance(SILENCE_MS);
  keys.resume();
  await expect.poll(() => terminal.writableNeedDrain).toBe(false);
  const next = shown();
  clock.advance(SILENCE_MS);
  expect(await next).toBe(null);
});
