// Images pulled for computers when their host's disk is nearly full.
import { startRegistry, type TestRegistry } from '@switchyard/testing';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestHost, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const docker = new Docker();
/** The machine may be busy. */
const PATIENCE = { timeout: 60_000 };
vi.setConfig({ testTimeout: 180_000 }); // several starts and stops
let registry: TestRegistry;
let testHost: TestHost;
let room = true;

beforeAll(async () => {
  registry = await startRegistry();
  const allowedNetworks = ['127.0.0.0/8'];
  testHost = await openTestHost({ allowedNetworks, hasRoom: () => room, roomWatchMs: 50 });
}, SETUP_TIMEOUT_MS);
afterAll(async () => {
  room = true;
  await testHost?.close();
  for (const { Id } of await pulled('')) await docker.getImage(Id).remove({ force: true });
  await registry?.stop();
}, SETUP_TIMEOUT_MS);

const pulled = async (repository: string) =>
  (await docker.listImages()).filter(({ RepoTags }) =>
    RepoTags?.some((name) => name.startsWith(`${registry.address}/${repository}`)),
  );

async function start(computerId: string, image: string) {
  await testHost.host.workspaces.create(computerId);
  const reservation = await testHost.host.reserve({ computerId, image, cpu: 0.25, memoryMb: 512 });
  return reservation.start();
}

test('those that no container uses are removed, and pulled again when needed and there is room', async () => {
  const [used, unused] = [await registry.push('kept/used'), await registry.push('kept/unused')];
  const running = await start('cmp_running', used);
  const stopped = await start('cmp_stopped', unused);
  await stopped.stop();
  expect([await pulled('kept/used'), await pulled('kept/unused')]).toMatchObject([[{}], [{}]]);

  room = false;
  await expect.poll(() => pulled('kept/unused'), PATIENCE).toEqual([]);
  expect(await pulled('kept/used')).toHaveLength(1);
  await expect(start('cmp_stopped', unused)).rejects.toMatchObject({
    code: 'image_unavailable',
    details: { reason: 'no_room' },
  });

  room = true;
  const again = await start('cmp_stopped', unused);
  expect(await pulled('kept/unused')).toHaveLength(1);
  for (const computer of [running, again]) await computer.stop();
});
