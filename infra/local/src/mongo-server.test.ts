import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { findMongoServer, mongoServerProcess } from './mongo-server.ts';

const packages = { possible: false, install: () => Promise.reject(new Error('not here')) };

async function setup() {
  const folder = await temporaryFolder();
  const bin = join(folder, 'bin');
  const mongod = join(bin, 'mongod');
  await mkdir(bin);
  const find = (env: NodeJS.ProcessEnv = {}) =>
    findMongoServer({
      env: { PATH: bin, ...env },
      cacheFolder: join(folder, 'cache'),
      packages,
      containers: false,
      folder: join(folder, 'data'),
      doing: () => {},
    });
  const install = async () => {
    await writeFile(mongod, '#!/bin/sh\n');
    await chmod(mongod, 0o755);
  };
  return { folder, mongod, find, install };
}

describe('MongoDB comes from', () => {
  test('the address in MONGODB_URL, whatever else there is', async () => {
    const { find, install } = await setup();
    await install();
    expect(await find({ MONGODB_URL: 'mongodb://far' })).toEqual({ kind: 'address', url: 'mongodb://far' });
  });

  test('the PATH', async () => {
    const { find, install, mongod } = await setup();
    await install();
    expect(await find()).toEqual({ kind: 'program', path: mongod });
  });

  test('nowhere: the message says what to do', async () => {
    const { find } = await setup();
    await expect(find()).rejects.toMatchObject({ fix: expect.stringContaining('MONGODB_URL') });
  });
});

test('a data folder keeps the kind of server that created it, and an error names a missing one', async () => {
  const { folder, find, install, mongod } = await setup();
  await install();
  await find();
  expect(await readFile(join(folder, 'data', 'kind'), 'utf8')).toBe('program\n');
  await rm(mongod);
  await expect(find()).rejects.toThrow('was created by a MongoDB program');
});

test('a container is named by its folder, so that the next start removes one that was left, whatever its port', async () => {
  const nameOf = async (folder: string, port: number) => {
    const server = { kind: 'container', image: 'mongo' } as const;
    const { args } = await mongoServerProcess({ name: 'mongo', server, port, folder, env: {} });
    return args[args.indexOf('--name') + 1];
  };
  const [folder, other] = [await temporaryFolder(), await temporaryFolder()];
  expect(await nameOf(folder, 27017)).toBe(await nameOf(folder, 27018));
  expect(await nameOf(folder, 27017)).not.toBe(await nameOf(other, 27017));
});
