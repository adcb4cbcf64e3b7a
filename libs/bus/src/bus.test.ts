import { setImmediate } from 'node:timers/promises';
import { startNats } from '@switchyard/testing';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { connectBus } from './bus.ts';

/** Port 1 needs root to listen on, and no server listens there. */
const NOBODY = '127.0.0.1:1';

test('connecting without waiting fails and names the missing server without its credentials', async () => {
  const url = `nats://${NOBODY}`;
  const options = { service: 'test', logger: pino({ level: 'silent' }), waitsForServer: false };
  await expect(connectBus({ ...options, url })).rejects.toThrow(
    `the bus at ${NOBODY} cannot be reached: connection refused`,
  );
  const failure = connectBus({ ...options, url: `nats://user:secret@${NOBODY}` });
  await expect(failure).rejects.toThrow(`the bus at ${NOBODY} cannot be reached`);
  await expect(failure).rejects.not.toThrow(/secret/);
});

test('a message sent while the connection closes is dropped and does not crash the process', async () => {
  const nats = await startNats();
  try {
    const bus = await connectBus({ url: nats.url, service: 'test', logger: pino({ level: 'silent' }) });
    const closing = bus.close();
    while (!bus.nc.isClosed()) {
      bus.publisher.publish('nobody.listens', Buffer.alloc(0));
      bus.publisher.flush();
      await setImmediate();
    }
    await closing;
  } finally {
    await nats.stop();
  }
});
