/**
 * Finds or starts the Docker engine for computers: DOCKER_HOST, else the engine at the usual socket, else a started
 * `dockerd`, else Debian's docker.io, installed and started (both need root).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Docker from 'dockerode';
import type { DebianPackages } from './debian-packages.ts';
import { processIdentity } from './process-identity.ts';
import type { Doing } from './progress.ts';
import { findProgram, lastLines } from './run-command.ts';
import { SetupError } from './setup-error.ts';

export interface DockerEngine {
  readonly version: string;
  readonly origin: string;
  /** Set if this process started the engine and must stop it. */
  readonly started?: StartedEngine;
}

export interface StartedEngine {
  readonly pid: number;
  readonly identity: string;
}

interface FindDockerEngineOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheFolder: string;
  readonly packages: DebianPackages;
  readonly doing: Doing;
  /** Aborted when the start is given up: an engine that is being started is ended. */
  readonly stopping: AbortSignal;
}

/** Even on a busy machine an engine answers in time. */
const PING_TIMEOUT_MS = 15_000;
const START_TIMEOUT_MS = 60_000;
const POLL_EVERY_MS = 100;
const LOG_LINES_SHOWN = 10;
const DEBIAN_PACKAGES = ['docker.io', 'debootstrap', 'iptables', 'iproute2'];
const SOCKET = '/var/run/docker.sock';
const PID_FILE = '/var/run/docker.pid';
/** dockerd looks for iptables here; a user's PATH may lack these folders. */
const SYSTEM_FOLDERS = '/usr/local/sbin:/usr/sbin:/sbin';
/** Prefix of the labels on every container and network of a computer agent. */
const OUR_LABELS = 'switchyard.';

/** @throws SetupError if there is none and none can be started */
export async function findDockerEngine(options: FindDockerEngineOptions): Promise<DockerEngine> {
  const { env, packages, doing } = options;
  if (env.DOCKER_HOST) {
    const version = await engineVersion(env);
    if (version !== undefined) return { version, origin: `at ${env.DOCKER_HOST}, from DOCKER_HOST` };
    throw new SetupError(
      `No Docker engine answers at DOCKER_HOST=${env.DOCKER_HOST}.`,
      'Start that engine, or unset DOCKER_HOST.',
    );
  }
  const version = await engineVersion(env);
  if (version !== undefined) return { version, origin: `answering at ${SOCKET}` };
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new SetupError(
      'No Docker engine answers, and only root can start one.',
      `Start Docker, give this user access to ${SOCKET}, or set DOCKER_HOST.`,
    );
  }
  const path = `${env.PATH}:${SYSTEM_FOLDERS}`;
  let origin = 'dockerd started';
  if (findProgram('dockerd', path) === undefined) {
    if (!packages.possible) {
      throw new SetupError('Docker not found.', 'Install Docker, or set DOCKER_HOST.');
    }
    doing(`installing ${DEBIAN_PACKAGES.join(', ')} with apt-get; takes about a minute, once per machine`, {
      announce: true,
    });
    await packages.install(DEBIAN_PACKAGES).catch((cause: Error) => {
      throw new SetupError(`docker.io could not be installed. ${cause.message}`, 'Install Docker.', {
        cause,
      });
    });
    origin = 'docker.io installed and dockerd started';
    // The package's own service may have started it already.
    const already = await engineVersion(env);
    if (already !== undefined)
      return { version: already, origin: 'docker.io installed, started by the system' };
  }
  doing('starting dockerd');
  return startDockerd(origin, { ...options, env: { ...env, PATH: path } });
}

/** The result in the step's line. */
export function describeDockerEngine(engine: DockerEngine): string {
  return `Docker ${engine.version}, ${engine.origin}`;
}

/** The version of the engine at DOCKER_HOST or the usual socket, or undefined if none answers. */
export async function engineVersion(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const docker = env.DOCKER_HOST
      ? new Docker({ timeout: PING_TIMEOUT_MS })
      : new Docker({ socketPath: SOCKET, timeout: PING_TIMEOUT_MS });
    return (await docker.version()).Version;
  } catch {
    return undefined;
  }
}

/** Whether containers run that Switchyard did not start. */
export async function servesOthers(): Promise<boolean> {
  const running = await new Docker({ socketPath: SOCKET, timeout: PING_TIMEOUT_MS }).listContainers();
  return running.some(({ Labels }) => !Object.keys(Labels).some((label) => label.startsWith(OUR_LABELS)));
}

/**
 * Starts dockerd in its own session with its own log: it outlives this process while others use it. Where another
 * process starts one at the same moment, ours ends, and the other one is waited for.
 */
export async function startDockerd(
  origin: string,
  { env, cacheFolder, stopping }: Pick<FindDockerEngineOptions, 'env' | 'cacheFolder' | 'stopping'>,
): Promise<DockerEngine> {
  stopping.throwIfAborted();
  mkdirSync(cacheFolder, { recursive: true });
  const logFile = join(cacheFolder, 'dockerd.log');
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn('dockerd', [], { detached: true, stdio: ['ignore', log, log], env });
  closeSync(log);
  child.unref();
  const died = new AbortController();
  once(child, 'exit').then(
    () => died.abort(),
    () => died.abort(),
  );
  const end = () => child.kill();
  stopping.addEventListener('abort', end);
  const deadline = performance.now() + START_TIMEOUT_MS;
  try {
    while (performance.now() < deadline) {
      if (died.signal.aborted && (stopping.aborted || !(await isAnotherRunning()))) break;
      const version = await engineVersion(env);
      const identity = child.pid === undefined ? undefined : await processIdentity(child.pid);
      if (version !== undefined && !stopping.aborted) {
        if (identity !== undefined) return { version, origin, started: { pid: child.pid!, identity } };
        return { version, origin: 'started by another process' };
      }
      await delay(POLL_EVERY_MS);
    }
  } finally {
    stopping.removeEventListener('abort', end);
  }
  if (!died.signal.aborted) child.kill('SIGKILL');
  stopping.throwIfAborted();
  const words = lastLines(await readFile(logFile, 'utf8').catch(() => ''), LOG_LINES_SHOWN);
  throw new SetupError(
    `dockerd ${died.signal.aborted ? 'ended at its start' : `does not answer after ${START_TIMEOUT_MS / 1000} s`}:\n${words}`,
    `Read ${logFile}, or start Docker yourself, or set SWITCHYARD_COMPUTERS=off.`,
  );
}

/** dockerd ends at once while this file names a live process: another dockerd, which may not answer yet. */
async function isAnotherRunning(): Promise<boolean> {
  const pid = Number(await readFile(PID_FILE, 'utf8').catch(() => ''));
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  const isDockerd = name.trim() === 'dockerd'; // the file may be of a former boot, and its number in use
  return isDockerd && (await processIdentity(pid)) !== undefined;
}
