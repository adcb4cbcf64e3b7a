/**
 * A Docker engine for one test, beside the machine's: it has its own data root, socket, containerd and network
 * namespace, since a starting engine clears the firewall chains of all others in its namespace. Its containers have no
 * access to outside networks. Needs root and `dockerd`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram } from '@switchyard/local';
import Docker from 'dockerode';
import { killedWithParent } from './killed-with-parent.ts';
import { temporaryFolder } from './test-server.ts';

const run = promisify(execFile);

const START_TIMEOUT_MS = 120_000;
/** Without live-restore its containers are stopped first: those that ignore SIGTERM after 10 s. */
const STOP_TIMEOUT_MS = 60_000;
const POLL_EVERY_MS = 20;
const OUTPUT_CHARS_MAX = 16_384;
const NOT_FOUND = 404;
const BEING_REMOVED = 409;

export interface TestEngineOptions {
  /** Containers run on while the engine is down. */
  readonly liveRestore?: boolean;
  /** Another engine, whose network namespace it shares, with its own bridge: two engines on one kernel's firewall. */
  readonly beside?: TestEngine;
}

export interface TestEngine {
  readonly docker: Docker;
  /** For `DOCKER_HOST`. */
  readonly address: string;
  /** Its network namespace, for `nsenter --net`. */
  readonly network: string;
  /** SIGKILL to the engine and its containerd; the processes of containers run on. */
  kill9(): Promise<void>;
  /** SIGTERM, and resolves when it is gone. Without live-restore it stops its containers first. */
  end(): Promise<void>;
  /** SIGSTOP: it takes connections and answers nothing until `thaw`; containers run on. */
  freeze(): void;
  thaw(): void;
  /** Starts it again (ends it first if it runs). Resolves when it answers. */
  restart(): Promise<void>;
  /** Removes its containers, then the engine, what it left running, and its files. */
  stop(): Promise<void>;
}

/** Whether this machine and user can start one; otherwise tests are skipped. */
export function canStartTestEngine(): boolean {
  const programs = ['dockerd', 'unshare', 'nsenter'];
  return (
    process.getuid?.() === 0 && programs.every((name) => findProgram(name, process.env.PATH) !== undefined)
  );
}

/**
 * @example
 * const engine = await startTestEngine();
 * afterAll(() => engine.stop());
 * await importSmallImage(engine.docker);
 */
export async function startTestEngine({
  liveRestore = false,
  beside,
}: TestEngineOptions = {}): Promise<TestEngine> {
  const folder = await temporaryFolder('engine');
  const network = beside?.network ?? join(folder, 'network');
  const socketPath = join(folder, 'docker.sock');
  if (!beside) {
    await writeFile(network, '');
    await run('unshare', [`--net=${network}`, 'true']);
  }
  const options = [
    ['--data-root', join(folder, 'data')],
    ['--exec-root', join(folder, 'exec')],
    ['--pidfile', join(folder, 'pid')],
    ['--host', `unix://${socketPath}`],
    liveRestore ? ['--live-restore'] : [],
    beside ? ['--bridge', await addBridge(network)] : [], // docker0 is the other's
  ].flat();
  const docker = new Docker({ socketPath });
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const [command, ...args] = killedWithParent('SIGTERM', 'nsenter', [
      `--net=${network}`,
      'dockerd',
      ...options,
    ]);
    const life = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = life;
    let output = '';
    life.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARS_MAX);
    });
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await answers(docker))) {
      if (isOver(life)) throw new Error(`dockerd exited while starting:\n${output}`);
      if (performance.now() > deadline) throw new Error(`dockerd does not answer:\n${output}`);
      await delay(POLL_EVERY_MS);
    }
  }

  /** Also waits for its containerd, which ends by itself after the engine: the next engine must not find it running. */
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child === undefined || isOver(child)) return;
    const pidFile = await readFile(join(folder, 'exec', 'containerd', 'containerd.pid'), 'utf8').catch(
      () => '',
    );
    const gone = once(child, 'exit');
    child.kill(signal);
    const killTimer = setTimeout(() => child?.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(killTimer);
    if (pidFile !== '') await waitForExit(Number(pidFile));
  }

  async function restart(): Promise<void> {
    await end('SIGTERM');
    await start();
  }

  async function removeContainers(): Promise<void> {
    if (child === undefined || isOver(child)) await start();
    const containers = await docker.listContainers({ all: true });
    await Promise.all(containers.map(({ Id }) => removeContainer(docker.getContainer(Id))));
  }

  const engine: TestEngine = {
    docker,
    address: `unix://${socketPath}`,
    network,
    kill9: () => end('SIGKILL'),
    end: () => end('SIGTERM'),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    restart,
    async stop() {
      await removeContainers();
      await end('SIGTERM');
      await killShims(folder);
      await unmountAll(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await start();
  } catch (error) {
    await end('SIGKILL');
    await killShims(folder);
    await unmountAll(folder);
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return engine;
}

async function addBridge(network: string): Promise<string> {
  const name = `sy${randomBytes(4).toString('hex')}`;
  const ip = (...words: string[]) => run('nsenter', [`--net=${network}`, 'ip', ...words]);
  await ip('link', 'add', name, 'type', 'bridge');
  await ip('address', 'add', `10.${200 + randomInt(50)}.${randomInt(250)}.1/24`, 'dev', name);
  await ip('link', 'set', name, 'up');
  return name;
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function answers(docker: Docker): Promise<boolean> {
  return docker.ping().then(
    () => true,
    () => false,
  );
}

/** The container may already be removed by another process. */
async function removeContainer(container: Docker.Container): Promise<void> {
  await container.remove({ force: true }).catch((error: { statusCode?: number }) => {
    if (error.statusCode !== NOT_FOUND && error.statusCode !== BEING_REMOVED) throw error;
  });
}

/** Waits for the end of a process that is not a child of this one. */
async function waitForExit(pid: number): Promise<void> {
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} did not end in time`);
    await delay(POLL_EVERY_MS);
  }
}

function isAlive(pid: number): boolean {
  return signal(pid, 0);
}

/** Sends a signal. Returns whether the process exists. */
function signal(pid: number, number: 0 | 'SIGKILL'): boolean {
  try {
    return process.kill(pid, number);
  } catch {
    return false;
  }
}

/** Kills the shims, which outlive their engine and keep its folder in use, each after its only child, the container. */
async function killShims(folder: string): Promise<void> {
  for (const pid of await processesWith(join(folder, 'exec', 'containerd', 'containerd.sock'))) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    for (const one of [
      ...children
        .split(' ')
        .filter((child) => child !== '')
        .map(Number),
      pid,
    ]) {
      signal(one, 'SIGKILL');
      await waitForExit(one);
    }
  }
}

/** Processes that have this argument. */
async function processesWith(argument: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => ''); // it has ended
    if (line.split('\0').includes(argument)) found.push(Number(name));
  }
  return found;
}

/** Unmounts all below a folder, the last first. */
async function unmountAll(folder: string): Promise<void> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  const points = table
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${folder}/`));
  for (const point of points.reverse()) await run('umount', ['--lazy', point]);
}
