import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { startNats } from './nats.ts';

test('a stream survives kill -9 at the same address', async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const before = await connect({ servers: nats.url, reconnect: false });
  const streams = (await jetstreamManager(before)).streams;
  await streams.add({ name: 'KEPT', subjects: ['kept.>'] });
  await nats.kill9();
  await before.closed();
  await nats.restart();
  const after = await connect({ servers: nats.url });
  onTestFinished(() => after.close());
  expect((await (await jetstreamManager(after)).streams.info('KEPT')).config.subjects).toEqual(['kept.>']);
});

test('two servers are independent of each other', async () => {
  const servers = [await startNats(), await startNats()];
  for (const server of servers) onTestFinished(() => server.stop());
  expect(new Set(servers.map(({ port }) => port)).size).toBe(2);
});
