// Images that are not ours need only what their commands use: the init is static.
import { once } from 'node:events';
import { IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DiskPolicy } from './host-features.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const WITHOUT_BASH = 'switchyard-test/without-bash:latest';
const EMPTY = 'switchyard-test/empty:latest';
const HOSTILE = 'switchyard-test/hostile:latest';
const EAGER = 'switchyard-test/eager:latest';
/** A shell that replaces the init's socket if it is run while the host still looks there. */
const EAGER_SHELL =
  '#!/bin/sh\\n[ -e /tried ] || { touch /tried; touch /run/switchyard/mine && touch /early; }\\nexec /bin/sh "$@"';
/** All that an image can demand of its engine. */
const DEMANDS = [
  'ENTRYPOINT ["/bin/sh", "-c", "touch /workspace/entered; sleep 1000"]',
  'CMD ["--with", "this"]',
  'USER nobody',
  'ENV LD_PRELOAD=/evil.so',
  'ENV GREETING=hello',
  'WORKDIR /etc',
  'VOLUME /data',
  'EXPOSE 22/tcp 4222/tcp',
  'HEALTHCHECK --interval=1s CMD touch /checked',
  'LABEL switchyard.agent=host_of_others switchyard.slot=../../..',
];
const docker = new Docker();
let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost();
  const container = await docker.createContainer({
    Image: IMAGE,
    Cmd: ['sh', '-c', 'rm /bin/bash /bin/bash-static && mkdir /empty'],
    NetworkDisabled: true,
  });
  try {
    await container.start();
    await container.wait();
    const [repo, tag] = WITHOUT_BASH.split(':');
    await container.commit({ repo, tag });
    await commitHostile(container);
    await commitEager();
    const archive = await container.getArchive({ path: '/empty' });
    const imported = await docker.importImage(archive, { repo: EMPTY.split(':')[0], tag: 'latest' });
    imported.resume();
    await once(imported, 'end');
  } finally {
    await container.remove({ force: true });
  }
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await testHost?.close();
  for (const image of [EAGER, WITHOUT_BASH, EMPTY, HOSTILE]) await docker.getImage(image).remove();
}, SETUP_TIMEOUT_MS);

async function commitEager(): Promise<void> {
  const container = await docker.createContainer({
    Image: WITHOUT_BASH,
    Cmd: ['sh', '-c', `printf '${EAGER_SHELL}' > /bin/bash && chmod +x /bin/bash`],
    NetworkDisabled: true,
  });
  try {
    await container.start();
    await container.wait();
    const [repo, tag] = EAGER.split(':');
    await container.commit({ repo, tag });
  } finally {
    await container.remove({ force: true });
  }
}

async function commitHostile(container: Docker.Container): Promise<void> {
  const [repo, tag] = HOSTILE.split(':');
  await container.commit({ repo, tag, changes: DEMANDS.join('\n') });
}

/** A computer of an image that is present; the product would pull it first. */
async function computerOf(image: string, disks: DiskPolicy = 'required') {
  const other = await openTestHost({
    diskGb: 1 / 16,
    disks,
    standardImage: { name: image, ensure: async () => {} },
  });
  const id = 'cmp_other';
  await other.host.workspaces.create(id);
  const computer = await (await other.host.reserve({ computerId: id, image, cpu: 1, memoryMb: 512 })).start();
  return { computer, agentId: other.options.agentId, close: () => other.close() };
}

test('an image without bash runs commands by sh', async () => {
  const { computer, close } = await computerOf(WITHOUT_BASH);
  expect((await run(computer, '[ -z "$BASH_VERSION" ] && echo plain $0; pwd')).output.toString()).toBe(
    'plain sh\n/workspace\n',
  );
  expect(await run(computer, 'exit 4')).toMatchObject({ exitCode: 4 });
  await close();
});

test('no program of an image runs before the host has taken the init’s socket', async () => {
  const { computer, close } = await computerOf(EAGER);
  expect((await run(computer, 'ls /tried /early')).output.toString()).toContain('/tried\n');
  expect(await run(computer, '[ -e /early ]')).toMatchObject({ exitCode: 1 });
  await close();
});

test('an image without any shell starts, and a command in it fails without an exit code', async () => {
  // The host proves its disks by a command in its standard image, which has no shell here.
  const { computer, close } = await computerOf(EMPTY, 'auto');
  await expect(run(computer, 'true')).rejects.toMatchObject({
    code: 'computer_failed',
    details: { reason: 'no_shell' },
  });
  await close();
});

test('an image sets its environment, and nothing that concerns the host', async () => {
  const { computer, agentId, close } = await computerOf(HOSTILE);
  const text = async (command: string) => (await run(computer, command)).output.toString();
  expect(
    await text('unset LD_PRELOAD; id -u; pwd; ls -A; echo $GREETING; readlink -f /proc/1/exe 2>&1 | wc -l'),
  ).toContain('0\n/workspace\nhello\n');
  const { Config, State, HostConfig, NetworkSettings } = await docker
    .getContainer(computer.containerId)
    .inspect();
  expect(Config.Entrypoint).toEqual(['/sbin/switchyard-init']);
  expect(Config.Cmd).toEqual(['/run/switchyard/init.sock']);
  expect(Config).toMatchObject({ User: '0:0', StopSignal: 'SIGTERM', Healthcheck: { Test: ['NONE'] } });
  expect(Config.Labels['switchyard.agent']).toBe(agentId);
  expect(Config.Labels['switchyard.slot']).toMatch(/^[0-9a-f]{16}$/);
  expect(State.Health).toBeUndefined();
  expect(HostConfig.PublishAllPorts).toBe(false);
  expect(Object.values(NetworkSettings.Ports).filter((published) => published !== null)).toEqual([]);
  await close();
});

test('a volume that an image declares lies on the computer’s disk, and goes with it', async () => {
  const before = (await docker.listVolumes()).Volumes.map(({ Name }) => Name);
  const { computer, close } = await computerOf(HOSTILE);
  const { Mounts } = await docker.getContainer(computer.containerId).inspect();
  const volume = Mounts.find(({ Type }) => Type === 'volume');
  expect(volume?.Destination).toBe('/data');
  const full = await run(computer, 'unset LD_PRELOAD; dd if=/dev/zero of=/data/big bs=1M 2>&1');
  expect(full.output.toString()).toContain('No space left on device');
  expect(
    (
      await run(computer, 'unset LD_PRELOAD; rm /data/big; echo kept > /data/file; cat /data/file')
    ).output.toString(),
  ).toContain('kept\n');
  await close();
  expect(
    (await docker.listVolumes()).Volumes.map(({ Name }) => Name).filter((name) => name === volume?.Name),
  ).toEqual([]);
  expect(before).not.toContain(volume?.Name);
});
