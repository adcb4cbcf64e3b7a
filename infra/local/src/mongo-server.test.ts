import { existsSync } from 'node:fs';
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
  const find = (env: NodeJS.ProcessEnv = {}, engineSearch?: Promise<unknown>) =>
    findMongoServer({
      env: { PATH: bin, ...env },
      cacheFolder: join(folder, 'cache'),
      packages,
      containers: false,
      engineSearch,
      folder: join(folder, 'data'),
      doing: () => {},
    });
  const install = async (program = 'mongod', script = '') => {
    await writeFile(join(bin, program), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, program), 0o755);
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

test('a folder that a container began needs one, also where a new folder would get the stand-in', async () => {
  const { folder, find, install } = await setup();
  for (const program of ['java', 'javac']) await install(program);
  await install('mvn', '/bin/mkdir -p target/lib');
  expect(await find()).toMatchObject({ kind: 'stand-in' });
  const pulled = join(folder, 'pulled');
  await writeFile(join(folder, 'data', 'kind'), 'container\n');
  await expect(find()).rejects.toMatchObject({
    fix: expect.stringContaining('Start Docker and pull mongo:8'),
  });

  // The image was removed.
  const commands = `case $1 in image) test -e ${pulled};; pull) echo "$@" > ${pulled};; esac`;
  await install('docker', commands);
  expect(await find()).toEqual({ kind: 'container', image: 'mongo:8' });
  expect(await readFile(pulled, 'utf8')).toBe('pull --quiet mongo:8\n');
});

test('a container waits for a Docker engine that is being started', async () => {
  const { folder, find, install } = await setup();
  const [engine, asked] = [join(folder, 'engine'), join(folder, 'asked')];
  await install('docker', `test -e ${engine} || { : > ${asked}; exit 1; }`);
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'data', 'kind'), 'container\n');
  const started = Promise.withResolvers<void>();
  const found = find({}, started.promise);
  await expect.poll(() => existsSync(asked)).toBe(true);
  await writeFile(engine, '');
  started.resolve();
  expect(await found).toEqual({ kind: 'container', image: 'mongo:8' });
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
