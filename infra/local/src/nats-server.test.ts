import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { findNatsServer, natsServerProcess } from './nats-server.ts';

const silent = () => {};

async function program(file: string, words: string): Promise<string> {
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho '${words}'\n`);
  await chmod(file, 0o755);
  return file;
}

describe('nats-server comes from', () => {
  test('the address in NATS_URL, whatever else there is', async () => {
    const cacheFolder = await temporaryFolder();
    await program(join(cacheFolder, 'bin', 'nats-server'), 'nats-server: v2.15.2');
    const env = { NATS_URL: 'nats://far:4222', PATH: join(cacheFolder, 'bin') };
    expect(await findNatsServer({ env, cacheFolder, containers: false, doing: silent })).toEqual({
      kind: 'address',
      url: 'nats://far:4222',
    });
  });

  test('the PATH, if it is new enough', async () => {
    const cacheFolder = await temporaryFolder();
    const path = await program(join(cacheFolder, 'bin', 'nats-server'), 'nats-server: v2.12.0');
    const env = { PATH: join(cacheFolder, 'bin') };
    expect(await findNatsServer({ env, cacheFolder, containers: false, doing: silent })).toMatchObject({
      kind: 'program',
      path,
      version: '2.12.0',
    });
  });

  test('what was built before, where the one on the PATH is too old', async () => {
    const cacheFolder = await temporaryFolder();
    await program(join(cacheFolder, 'bin', 'nats-server'), 'nats-server: v2.9.15');
    const built = await program(
      join(cacheFolder, 'nats-server-2.15.2', 'nats-server'),
      'nats-server: v2.15.2',
    );
    const env = { PATH: join(cacheFolder, 'bin') };
    const said: string[] = [];
    const doing = (text: string) => said.push(text);
    expect(await findNatsServer({ env, cacheFolder, containers: false, doing })).toMatchObject({
      path: built,
    });
    expect(said.join()).toContain('2.9.15, older than 2.12.0');
  });

  test('nowhere: the message says what to do', async () => {
    const cacheFolder = await temporaryFolder();
    const find = findNatsServer({ env: { PATH: '' }, cacheFolder, containers: false, doing: silent });
    await expect(find).rejects.toMatchObject({ fix: expect.stringContaining('NATS_URL') });
  });
});

describe('a container of nats-server', () => {
  const spec = (storeFolder: string, port: number) =>
    natsServerProcess({
      name: 'nats',
      server: { kind: 'container', image: 'nats' },
      host: '127.0.0.1',
      port,
      storeFolder,
      configFile: '/data/nats-users/nats.conf',
      env: {},
    });
  const nameOf = ({ args }: ReturnType<typeof spec>) => args[args.indexOf('--name') + 1];

  test('is named by its folder, so that the next start removes one that was left, whatever its port', () => {
    expect(nameOf(spec('/data/nats', 4222))).toBe(nameOf(spec('/data/nats', 4223)));
    expect(nameOf(spec('/data/nats', 4222))).not.toBe(nameOf(spec('/other/nats', 4222)));
  });

  test('reads a configuration that replaces the file of its start', () => {
    const { args } = spec('/data/nats', 4222);
    expect(args).toContain('/data/nats-users:/etc/switchyard:ro');
    expect(args[args.indexOf('-c') + 1]).toBe('/etc/switchyard/nats.conf');
  });
});
