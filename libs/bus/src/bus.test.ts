import { pino } from 'pino';
import { expect, test } from 'vitest';
import { connectBus } from './bus.ts';

/** Nobody may listen there but root's own, and nobody does. */
const NOBODY = '127.0.0.1:1';

test('whoever does not wait for a server is told which one is not there, without its credentials', async () => {
  const url = `nats://${NOBODY}`;
  const options = { service: 'test', logger: pino({ level: 'silent' }), waitsForServer: false };
  await expect(connectBus({ ...options, url })).rejects.toThrow(
    `the bus at ${NOBODY} cannot be reached: connection refused`,
  );
  const failure = connectBus({ ...options, url: `nats://user:secret@${NOBODY}` });
  await expect(failure).rejects.toThrow(`the bus at ${NOBODY} cannot be reached`);
  await expect(failure).rejects.not.toThrow(/secret/);
});
