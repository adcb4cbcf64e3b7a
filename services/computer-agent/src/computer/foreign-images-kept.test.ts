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
  // Without room, it suffices to remove one of two images.
  const roomBytes = async () =>
    room || (await pulled('kept/unused')).length < 2 ? Number.POSITIVE_INFINITY : -1;
  testHost = await openTestHost({ allowedNetworks, hasRoom: () => room, roomBytes, roomWatchMs: 50 });
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

test('as few as needed that no container uses are removed, and pulled again when there is room', async () => {
  const running = await start('cmp_running', await registry.push('kept/used'));
  const unused = new Map<string, string>();
  for (const id of ['cmp_one', 'cmp_two']) {
    const image = await registry.push(`kept/unused-${id}`);
    unused.set(id, image);
    await (await start(id, image)).stop();
  }
  expect([await pulled('kept/used'), await pulled('kept/unused')]).toMatchObject([[{}], [{}, {}]]);

  room = false;
  await expect.poll(() => pulled('kept/unused'), PATIENCE).toHaveLength(1);
  expect(await pulled('kept/used')).toHaveLength(1);
  const [left] = await pulled('kept/unused');
  const isLeft = (id: string) => left!.RepoTags!.some((name) => name.includes(`unused-${id}`));
  const [removed, kept] = isLeft('cmp_one') ? ['cmp_two', 'cmp_one'] : ['cmp_one', 'cmp_two'];
  await expect(start(removed, unused.get(removed)!)).rejects.toMatchObject({
    code: 'image_unavailable',
    details: { reason: 'no_room' },
  });
  const started = await start(kept, unused.get(kept)!);

  room = true;
  const again = await start(removed, unused.get(removed)!);
  expect(await pulled('kept/unused')).toHaveLength(2);
  for (const computer of [running, started, again]) await computer.stop();
});
