import { readNatsUrl } from '@switchyard/bus/nats-url';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { addHost } from './host-users.ts';
import { ensureNatsTls } from './nats-tls.ts';
import { readOrMakeUsers } from './nats-users.ts';

test('a new host gets an address that it can connect to, also when NATS is named by its IPv6 address', async () => {
  const folder = await temporaryFolder();
  await readOrMakeUsers(folder, []);
  await ensureNatsTls(folder, ['2001:db8::1']);
  const env = { SWITCHYARD_CREDENTIALS: folder, SWITCHYARD_DATA: folder };
  const [, natsUrl = ''] = /^NATS_URL=(.*)$/m.exec(await addHost(env, 'berlin-1')) ?? [];
  const [server = ''] = readNatsUrl(natsUrl).servers;
  const { hostname, port } = new URL(server);
  expect([hostname, port]).toEqual(['[2001:db8::1]', '4222']);
});
