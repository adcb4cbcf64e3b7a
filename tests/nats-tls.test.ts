// NATS as docker-compose.yml runs it: TLS only, with the authority that `npm run credentials` makes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { connectBus, request, withCredentials } from '@switchyard/bus';
import {
  ensureNatsTls,
  publicNames,
  ROOT,
  readOrMakeUser,
  readOrMakeUsers,
  usersFolder,
  writeNatsConfig,
} from '@switchyard/local';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const logger = makeLogger('test', 'silent');
let folder: string;
let caFile: string;
let nats: TestServer;
let operator: { user: string; password: string };

beforeAll(async () => {
  folder = await temporaryFolder('credentials');
  const tls = await ensureNatsTls(folder, ['bus.example.org', '10.1.2.3']);
  ({ caFile } = tls);
  ({ operator } = await readOrMakeUsers(folder, ['computer-agent']));
  nats = await startNats({ configFile: await writeNatsConfig(usersFolder(folder), tls) });
});
afterAll(() => nats?.stop());

const asOperator = { service: 'test', logger, waitsForServer: false };
const url = () => withCredentials(nats.url, operator);

test('a service serves over TLS, and answers a caller who trusts the authority', async () => {
  const control = await readOrMakeUser(usersFolder(folder), 'control', 'control');
  const service = spawn(process.execPath, ['services/control/src/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      NATS_URL: nats.url.replace('nats:', 'tls:'),
      NATS_USER: control.user,
      NATS_PASSWORD: control.password,
      NATS_TLS_CA: caFile,
      SWITCHYARD_DATA: folder,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(service, 'exit');
  await once(service, 'message'); // it serves
  const bus = await connectBus({ ...asOperator, url: url(), caFile });
  const options = await request(bus, 'computers.options', {});
  expect(options.max_computers).toBeGreaterThan(0);
  await bus.close();
  service.kill('SIGTERM');
  await ended;
});

test('nats-server takes no password over a plain connection', async () => {
  const { user, password: pass } = operator;
  const plain = { servers: nats.url, user, pass, tls: null, reconnect: false };
  await expect(connect(plain)).rejects.toThrow();
});

test('a service trusts only the authority that it is given', async () => {
  const { caFile: foreign } = await ensureNatsTls(await temporaryFolder('credentials'), []);
  const strangers = connectBus({ ...asOperator, url: url(), caFile: foreign });
  await expect(strangers).rejects.toThrow(/cannot be reached/);
  const publicOnly = connectBus({ ...asOperator, url: url().replace('nats:', 'tls:') });
  await expect(publicOnly).rejects.toThrow(/cannot be reached/);
});

test('a service that is set to use TLS sends no password to a server without it', async () => {
  const plain = await startNats();
  try {
    const byName = connectBus({ ...asOperator, url: plain.url.replace('nats:', 'tls:') });
    await expect(byName).rejects.toThrow(/tls/);
    await expect(connectBus({ ...asOperator, url: plain.url, caFile })).rejects.toThrow(/tls/);
  } finally {
    await plain.stop();
  }
});

test('the authority and the names of the server are kept when credentials are made again', async () => {
  const before = await stat(caFile);
  const { certFile } = await ensureNatsTls(folder, ['another.example.org']);
  expect((await stat(caFile)).mtimeMs).toBe(before.mtimeMs);
  const names = await publicNames(folder);
  expect(names).toEqual(['bus.example.org', '10.1.2.3', 'another.example.org']);
  for (const key of [join(folder, 'nats-ca-key.pem'), certFile.replace('cert', 'key')])
    expect((await stat(key)).mode & 0o777, key).toBe(0o600);
});
