import { setImmediate } from 'node:timers/promises';
import { startNats } from '@switchyard/testing';
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
