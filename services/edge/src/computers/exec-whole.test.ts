// Commands whose host has no agent on the bus, on a real nats-server.
import { connectBus } from '@switchyard/bus';
import { DEFAULT_ORG, newId } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats } from '@switchyard/testing';
import { expect, onTestFinished, test } from 'vitest';
import { execWhole } from './exec-whole.ts';

test('a command that no agent took is refused without a search for its result', async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  onTestFinished(() => bus.close());
  const clock = new FakeClock(); // a search would wait for it for ever
  const request = { id: newId('computer'), org: DEFAULT_ORG, body: { command: 'true' } };
  const exec = { host: newId('host'), requestId: newId('request'), signal: new AbortController().signal };
  await expect(execWhole({ bus, clock }, { ...exec, request })).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('No service handles'),
  });
});
