import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { startNats, temporaryFolder } from '@switchyard/testing';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { connectBus } from './bus.ts';

/** Port 1 needs root to listen on, and no server listens there. */
const CLOSED_PORT = '127.0.0.1:1';

test('connecting without waiting fails and names the missing server without its credentials', async () => {
  const url = `nats://${CLOSED_PORT}`;
  const options = { service: 'test', logger: pino({ level: 'silent' }), waitsForServer: false };
  await expect(connectBus({ ...options, url })).rejects.toThrow(
    `the bus at ${CLOSED_PORT} cannot be reached: connection refused`,
  );
  const failure = connectBus({ ...options, url: `nats://user:secret@${CLOSED_PORT}` });
  await expect(failure).rejects.toThrow(`the bus at ${CLOSED_PORT} cannot be reached`);
  await expect(failure).rejects.not.toThrow(/secret/);
});

test('a service that NATS refuses logs the reason once, without its password, and connects once it is accepted', async () => {
  const configFile = join(await temporaryFolder('nats'), 'nats.conf');
  const users = (password: string) =>
    writeFile(configFile, `jetstream: {}\nauthorization: { users: [{ user: edge, password: ${password} }] }`);
  await users('another');
  const nats = await startNats({ configFile });
  try {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const connecting = connectBus({ url: nats.url.replace('//', '//edge:secret@'), service: 'edge', logger });
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toMatch(/Authorization/);
    expect(lines[0]).not.toMatch(/secret/);
    await users('secret');
    await nats.restart();
    const bus = await connecting;
    expect(lines.filter((line) => line.includes('Authorization'))).toHaveLength(1);
    await bus.close();
  } finally {
    await nats.stop();
  }
});

test('a server that is down at the start is connected to later', async () => {
  const nats = await startNats();
  try {
    const url = `${nats.url},nats://${CLOSED_PORT}`;
    const bus = await connectBus({ url, service: 'test', logger: pino({ level: 'silent' }) });
    expect(bus.nc.getServers()).toHaveLength(2);
    await bus.close();
  } finally {
    await nats.stop();
  }
});

test('a service with a wrong URL or user, or without its file of authorities, fails at once', async () => {
  const options = { service: 'test', logger: pino({ level: 'silent' }) };
  await expect(connectBus({ ...options, url: 'nats://no host' })).rejects.toThrow('Invalid URL');
  for (const user of ['switchyard.prod', 'me%40here'])
    await expect(connectBus({ ...options, url: `nats://${user}:pw@${CLOSED_PORT}` })).rejects.toThrow(
      'NATS_USER',
    );
  const url = `nats://${CLOSED_PORT}`;
  await expect(connectBus({ ...options, url, caFile: '/missing.pem' })).rejects.toThrow('/missing.pem');
});

test('a message sent while the connection closes is dropped and does not crash the process', async () => {
  const nats = await startNats();
  try {
    const bus = await connectBus({ url: nats.url, service: 'test', logger: pino({ level: 'silent' }) });
    const closing = bus.close();
    while (!bus.nc.isClosed()) {
      bus.publisher.publish('unused.subject', Buffer.alloc(0));
      bus.publisher.flush();
      await setImmediate();
    }
    await closing;
  } finally {
    await nats.stop();
  }
});
