import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hostReaches } from './__fixtures__/host-targets.ts';
import { networkBehind } from './__fixtures__/network-behind.ts';

/** Used only here. */
const ADDRESS = '198.18.213.9';

const routes = async () => (await promisify(execFile)('ip', ['route', 'show', ADDRESS])).stdout;

test('a network behind the host coexists with one of another run, and vanishes with a killed run', async () => {
  const program = `
    import { networkBehind } from ${JSON.stringify(join(import.meta.dirname, '__fixtures__/network-behind.ts'))};
    await networkBehind([${JSON.stringify(ADDRESS)}]);
    console.log('stands');
  `;
  const other = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(other.stdout, 'data');
  const ours = await networkBehind([ADDRESS]);
  try {
    expect((await routes()).trim().split('\n').length).toBe(2);
    expect(await hostReaches(ADDRESS, ours.port)).toBe(true);
    other.kill('SIGKILL');
    await once(other, 'exit');
    await expect.poll(async () => (await routes()).trim().split('\n').length).toBe(1);
    expect(await hostReaches(ADDRESS, ours.port)).toBe(true);
  } finally {
    await ours.close();
  }
  expect(await routes()).toBe('');
});
