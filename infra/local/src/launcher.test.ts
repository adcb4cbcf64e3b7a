/** The launcher as a process, with the real NATS and MongoDB, over two minimal services. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROGRAMS } from '@switchyard/local-models/programs';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { addressesFile } from './addresses.ts';
import { ROOT } from './config.ts';
import { freePort } from './free-port.ts';
import { READY_LINE } from './launcher.ts';
import { processIdentity } from './process-identity.ts';

const PROGRAM = join(import.meta.dirname, '__fixtures__', 'launcher.ts');
const PROCESSES = ['entry', 'worker', 'nats', 'mongo'];

interface Launched {
  readonly process: ChildProcess;
  readonly url: string;
  output(): string;
  pids(): Promise<number[]>;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function spawnLauncher(dataFolder: string, env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const { NATS_URL: _, MONGODB_URL: __, SWITCHYARD_KEY: ___, ...machine } = process.env;
  const ports = { PORT: String(await freePort()), SWITCHYARD_NATS_PORT: String(await freePort()) };
  return spawn(process.execPath, [PROGRAM], {
    cwd: ROOT,
    env: { ...machine, ...ports, SWITCHYARD_DATA: dataFolder, SWITCHYARD_COMPUTERS: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Resolves at the ready line. */
async function launch(dataFolder: string, env?: NodeJS.ProcessEnv): Promise<Launched> {
  const launcher = await spawnLauncher(dataFolder, env);
  onTestFinished(async () => {
    if (launcher.exitCode !== null || launcher.signalCode !== null) return;
    launcher.kill('SIGTERM');
    await once(launcher, 'exit');
  });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    launcher.once('exit', () => reject(new Error(`ended:\n${output}`)));
    for (const stream of [launcher.stdout!, launcher.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const ready = output.match(READY_LINE)?.[1];
        if (ready !== undefined) resolve(ready);
      });
    }
  });
  const pidOf = async (name: string) =>
    Number(await readFile(join(dataFolder, 'run', `${name}.pid`), 'utf8'));
  return { process: launcher, url, output: () => output, pids: () => Promise.all(PROCESSES.map(pidOf)) };
}

async function untilEnd(launcher: ChildProcess): Promise<Ended> {
  let output = '';
  for (const stream of [launcher.stdout!, launcher.stderr!]) stream.on('data', (text) => (output += text));
  const [code] = await once(launcher, 'close');
  return { code, output };
}

const alive = async (pids: readonly number[]) =>
  (await Promise.all(pids.map(processIdentity))).filter((identity) => identity !== undefined).length;

test('a start serves, a stop ends all of it in order, and the next start has the same key', async () => {
  const dataFolder = await temporaryFolder();
  const first = await launch(dataFolder);
  const environment = (await (await fetch(first.url)).json()) as Record<string, string>;
  const key = (await readFile(join(dataFolder, 'key'), 'utf8')).trim();
  expect(environment.SWITCHYARD_KEY).toBe(key);
  expect(first.output().split(key)).toHaveLength(2);
  const pids = await first.pids();
  expect(await alive(pids)).toBe(PROCESSES.length);

  first.process.kill('SIGTERM');
  expect(await once(first.process, 'exit')).toEqual([0, null]);
  expect(await alive(pids)).toBe(0);
  expect(await readFile(join(dataFolder, 'stops'), 'utf8')).toBe('entry\nworker\n');

  const second = await launch(dataFolder);
  expect((await readFile(join(dataFolder, 'key'), 'utf8')).trim()).toBe(key);
  expect(second.output()).not.toContain(key);
});

test('a second launcher on the folder is refused with a fix, and the first keeps running', async () => {
  const dataFolder = await temporaryFolder();
  const first = await launch(dataFolder);
  const refused = await untilEnd(await spawnLauncher(dataFolder));
  expect(refused.code).toBe(1);
  expect(refused.output).toContain(`Another Switchyard (process ${first.process.pid})`);
  expect(refused.output).toContain('Fix: ');
  expect((await fetch(first.url)).status).toBe(200);
});

test('after a hard kill of the launcher the next start ends what was left running, and serves', async () => {
  const dataFolder = await temporaryFolder();
  const first = await launch(dataFolder);
  const orphans = await first.pids();
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  expect(await alive(orphans)).toBe(PROCESSES.length);

  const second = await launch(dataFolder);
  expect(await alive(orphans)).toBe(0);
  expect((await fetch(second.url)).status).toBe(200);
  expect(second.output()).toContain('stopped processes of an earlier start');
});

test('nats-server and the database come back on their ports after kill -9', async () => {
  const dataFolder = await temporaryFolder();
  const { pids, output, process: launcher } = await launch(dataFolder);
  const addresses = await readFile(addressesFile(dataFolder), 'utf8');
  const [, , nats, mongo] = await pids();
  const back = new Promise<void>((resolve) => {
    launcher.stdout!.on('data', () => {
      if (/^nats +serves again/m.test(output()) && /^mongo +serves again/m.test(output())) resolve();
    });
  });
  process.kill(nats!, 'SIGKILL');
  process.kill(mongo!, 'SIGKILL');
  await back;
  // The addresses were fixed at the start, so the servers are back on the same ports.
  expect(await readFile(addressesFile(dataFolder), 'utf8')).toBe(addresses);
  expect(await alive(await pids())).toBe(PROCESSES.length);
});

test('wrong settings are all named before anything is started', async () => {
  const env = { PORT: 'high', SWITCHYARD_KEY: 'short' };
  const { code, output } = await untilEnd(await spawnLauncher(await temporaryFolder(), env));
  expect(code).toBe(1);
  expect(output).toContain('PORT:');
  expect(output).toContain('SWITCHYARD_KEY:');
});

test('a service that does not exist is named, and one that cannot have two instances', async () => {
  const misspelt = { SWITCHYARD_SCALE: 'wroker=2' };
  expect(await untilEnd(await spawnLauncher(await temporaryFolder(), misspelt))).toMatchObject({
    code: 1,
    output: expect.stringContaining('SWITCHYARD_SCALE names unknown services: wroker'),
  });
  const twoEntries = { SWITCHYARD_SCALE: 'entry=2' };
  expect(await untilEnd(await spawnLauncher(await temporaryFolder(), twoEntries))).toMatchObject({
    code: 1,
    output: expect.stringContaining('can have only one'),
  });
});

test('instances of a service have names of their own', async () => {
  const dataFolder = await temporaryFolder();
  await launch(dataFolder, { SWITCHYARD_SCALE: 'worker=3' });
  const files = await readdir(join(dataFolder, 'run'));
  expect(files.filter((file) => /^worker.*\.pid$/.test(file)).sort()).toEqual([
    'worker-2.pid',
    'worker-3.pid',
    'worker.pid',
  ]);
});

test('a port that is taken is named', async () => {
  const { url } = await launch(await temporaryFolder());
  const port = new URL(url).port;
  const { code, output } = await untilEnd(await spawnLauncher(await temporaryFolder(), { PORT: port }));
  expect(code).toBe(1);
  expect(output).toContain(`Port ${port} at 127.0.0.1 is taken`);
});

test('an address that is not of this machine is not taken for a port in use', async () => {
  const elsewhere = { HOST: '192.0.2.1' };
  const { code, output } = await untilEnd(await spawnLauncher(await temporaryFolder(), elsewhere));
  expect(code).toBe(1);
  expect(output).toMatch(/The edge cannot listen on port \d+ at 192\.0\.2\.1: .*EADDRNOTAVAIL/);
});

/** A folder with every program of this machine but those of the local models, and this `apt-get`. */
async function pathWithoutLocalPrograms(aptGet: string): Promise<string> {
  const folder = await temporaryFolder();
  const isHere = new Set(['apt-get', ...Object.keys(PROGRAMS)]);
  for (const source of (process.env.PATH ?? '').split(':')) {
    for (const program of await readdir(source).catch(() => [])) {
      if (isHere.has(program)) continue;
      isHere.add(program);
      await symlink(join(source, program), join(folder, program));
    }
  }
  await writeFile(join(folder, 'apt-get'), `#!/bin/sh\ncd ${folder}\n${aptGet}\n`, { mode: 0o755 });
  return folder;
}

const withRoot = test.skipIf(process.getuid?.() !== 0);

withRoot('the programs of the local models are installed before the ready line', async () => {
  const install = `[ "$1" = update ] || touch ${Object.keys(PROGRAMS).join(' ')}`;
  const PATH = await pathWithoutLocalPrograms(install);
  const { output } = await launch(await temporaryFolder(), { PATH });
  expect(output()).toContain('espeak-ng ffmpeg pocketsphinx pocketsphinx-en-us installed');
  expect(await readdir(PATH)).toEqual(expect.arrayContaining(Object.keys(PROGRAMS)));
});

withRoot('a start is ready when the programs of the local models cannot be installed', async () => {
  const PATH = await pathWithoutLocalPrograms('exit 100');
  const { output } = await launch(await temporaryFolder(), { PATH });
  expect(output()).toContain('Fix: sudo apt-get install -y espeak-ng ffmpeg pocketsphinx pocketsphinx-en-us');
});

test('other programs find a stack that listens on all addresses', async () => {
  const dataFolder = await temporaryFolder();
  const { url } = await launch(dataFolder, { HOST: '0.0.0.0' });
  const { SWITCHYARD_URL } = JSON.parse(await readFile(addressesFile(dataFolder), 'utf8'));
  expect(SWITCHYARD_URL).toBe(url.replace('0.0.0.0', '127.0.0.1'));
});
