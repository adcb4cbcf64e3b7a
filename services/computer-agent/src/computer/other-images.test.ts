// Images that are not ours need nothing but what a command uses: the init brings itself.
import { once } from 'node:events';
import { IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const WITHOUT_BASH = 'switchyard-test/without-bash:latest';
const EMPTY = 'switchyard-test/empty:latest';
const docker = new Docker();
let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost();
  const container = await docker.createContainer({
    Image: IMAGE,
    Cmd: ['sh', '-c', 'rm /bin/bash && mkdir /empty'],
    NetworkDisabled: true,
  });
  try {
    await container.start();
    await container.wait();
    const [repo, tag] = WITHOUT_BASH.split(':');
    await container.commit({ repo, tag });
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
  for (const image of [WITHOUT_BASH, EMPTY]) await docker.getImage(image).remove();
});

/** A computer of an image that is there already; pulling is what the product would do first. */
async function computerOf(image: string) {
  const other = await openTestHost({ standardImage: { name: image, ensure: async () => {} } });
  const id = 'cmp_other';
  await other.host.workspaces.create(id);
  const computer = await (await other.host.reserve({ computerId: id, image, cpu: 1, memoryMb: 512 })).start();
  return { computer, close: () => other.close() };
}

test('an image without bash runs commands by sh', async () => {
  const { computer, close } = await computerOf(WITHOUT_BASH);
  expect((await run(computer, '[ -z "$BASH_VERSION" ] && echo plain $0; pwd')).output.toString()).toBe(
    'plain sh\n/workspace\n',
  );
  expect(await run(computer, 'exit 4')).toMatchObject({ exitCode: 4 });
  await close();
});

test('an image without any shell starts, and a command in it fails without an exit code', async () => {
  const { computer, close } = await computerOf(EMPTY);
  await expect(run(computer, 'true')).rejects.toMatchObject({
    code: 'computer_failed',
    details: { reason: 'no_shell' },
  });
  await close();
});
