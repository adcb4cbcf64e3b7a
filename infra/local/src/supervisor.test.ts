import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { ROOT } from './config.ts';
import { createPidFiles } from './pid-files.ts';
import { processIdentity } from './process-identity.ts';
import { openProcessLog } from './process-log.ts';
import { type ProcessSpec, type Supervised, supervise } from './supervisor.ts';

interface Setup {
  readonly supervised: Supervised;
  readonly folder: string;
  /** Process id by its pid file. */
  pid(): Promise<number>;
  /** Resolves at the first note, from now on, that matches. */
  noted(pattern: RegExp): Promise<string>;
  readonly notes: readonly string[];
}

/** Supervises a Node program given as text. */
async function setup(program: string, options: Partial<ProcessSpec> = {}): Promise<Setup> {
  const folder = await temporaryFolder();
  const notes: string[] = [];
  const listeners = new Set<(text: string) => void>();
  const note = (text: string) => {
    notes.push(text);
    for (const listener of listeners) listener(text);
  };
  const spec: ProcessSpec = {
    name: 'subject',
    command: process.execPath,
    args: ['-e', program],
    cwd: ROOT,
    env: process.env,
    ready: 'message',
    stopTimeoutMs: 30_000,
    ...options,
  };
  const log = openProcessLog(join(folder, 'logs', 'subject.log'), note);
  const supervised = supervise(spec, { log, pidFiles: createPidFiles(join(folder, 'run')), note });
  onTestFinished(async () => {
    supervised.kill();
    await supervised.stop();
  });
  const noted = (pattern: RegExp) =>
    new Promise<string>((resolve) => {
      const listener = (text: string) => {
        if (!pattern.test(text)) return;
        listeners.delete(listener);
        resolve(text);
      };
      listeners.add(listener);
    });
  const pid = async () => Number(await readFile(join(folder, 'run', 'subject.pid'), 'utf8'));
  return { supervised, folder, pid, noted, notes };
}

const SERVES = `process.send({ type: 'ready' }); setInterval(() => {}, 1000);`;

test('a process that is killed is started again within a second and serves, time after time', async () => {
  let starts = 0;
  const beforeStart = async () => {
    starts += 1;
  };
  const { supervised, pid, noted } = await setup(SERVES, { beforeStart });
  await supervised.ready;
  for (let kill = 1; kill <= 3; kill += 1) {
    const [died, again] = [noted(/^died/), noted(/^serves again/)];
    process.kill(await pid(), 'SIGKILL');
    await died;
    // Its pause began in this turn: one under a second ends before this delay, even on a slow machine.
    await Promise.race([again, delay(1_000)]);
    expect(starts).toBe(1 + kill);
    await again;
  }
});

test('its pid file names the current process, and is gone when it stops', async () => {
  const { supervised, folder, pid } = await setup(`console.log(process.pid); ${SERVES}`);
  await supervised.ready;
  await expect.poll(() => readFile(join(folder, 'logs', 'subject.log'), 'utf8')).toBe(`${await pid()}\n`);
  await supervised.stop();
  expect(existsSync(join(folder, 'run', 'subject.pid'))).toBe(false);
});

test('stop sends SIGTERM: the process finishes its work, and is not restarted', async () => {
  const { supervised, folder, pid } = await setup(
    `process.on('SIGTERM', () => setTimeout(() => { console.log('drained'); process.exit(0) }, 200)); ${SERVES}`,
  );
  await supervised.ready;
  const ended = await pid();
  await supervised.stop();
  expect(await processIdentity(ended)).toBeUndefined();
  expect(existsSync(join(folder, 'run', 'subject.pid'))).toBe(false);
  await expect.poll(() => readFile(join(folder, 'logs', 'subject.log'), 'utf8')).toBe('drained\n');
});

test('a process that ignores SIGTERM is killed after its timeout', async () => {
  const { supervised, pid } = await setup(`process.on('SIGTERM', () => {}); ${SERVES}`, {
    stopTimeoutMs: 300,
  });
  await supervised.ready;
  const ended = await pid();
  await supervised.stop();
  expect(await processIdentity(ended)).toBeUndefined();
});

test('a process that keeps dying at start is given up, with its last output', async () => {
  const { supervised, notes } = await setup(`console.error('the port is taken'); process.exit(3)`);
  await expect(supervised.ready).rejects.toThrow(/did not start \(exit code 3\)[\s\S]*the port is taken/);
  expect(notes.filter((text) => text.startsWith('died'))).toHaveLength(5);
});

test('a process whose settings are wrong is not tried twice', async () => {
  const { supervised, notes } = await setup(`process.exit(78)`);
  await expect(supervised.ready).rejects.toThrow('exit code 78');
  expect(notes).toEqual([]);
});

test('a program that does not exist fails with its name', async () => {
  const { supervised } = await setup('', { command: '/nowhere/to/be/found' });
  await expect(supervised.ready).rejects.toThrow('/nowhere/to/be/found');
});

test('a server is ready when its check says so, again after each restart', async () => {
  let checks = 0;
  const { supervised, pid, noted } = await setup('setInterval(() => {}, 1000)', {
    ready: async () => {
      checks += 1;
    },
  });
  await supervised.ready;
  const again = noted(/^serves again/);
  process.kill(await pid(), 'SIGKILL');
  await again;
  expect(checks).toBe(2);
});
