/**
 * Finds or makes the Docker engine that computers run on: DOCKER_HOST, else the engine that answers at the usual
 * socket, else `dockerd` started, else Debian's docker.io installed and started (both need root).
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
  /** Set where this process started it, and so has to stop it. */
  readonly started?: StartedEngine;
}

export interface StartedEngine {
  readonly pid: number;
  readonly identity: string;
}

export interface FindDockerEngineOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheFolder: string;
  readonly packages: DebianPackages;
  readonly doing: Doing;
}

/** For an engine that takes connections and answers nothing: one on a busy machine answers before that. */
const PING_TIMEOUT_MS = 15_000;
const START_TIMEOUT_MS = 60_000;
const POLL_EVERY_MS = 100;
const LOG_LINES_SHOWN = 10;
const DEBIAN_PACKAGES = ['docker.io', 'debootstrap', 'iptables', 'iproute2'];
const SOCKET = '/var/run/docker.sock';
/** Where a user's PATH may not lead, and dockerd looks for iptables. */
const SYSTEM_FOLDERS = '/usr/local/sbin:/usr/sbin:/sbin';
/** On every container and network that a computer agent makes. */
const OUR_LABELS = 'switchyard.';

/** Throws SetupError, which says why there is none. */
export async function findDockerEngine(options: FindDockerEngineOptions): Promise<DockerEngine> {
  const { env, packages, doing } = options;
  if (env.DOCKER_HOST) {
    const version = await engineVersion(env);
    if (version !== undefined) return { version, origin: `at ${env.DOCKER_HOST}, from DOCKER_HOST` };
    throw new SetupError(
      `No Docker engine answers at ${env.DOCKER_HOST}, which DOCKER_HOST names.`,
      'Start that engine, or unset DOCKER_HOST to have one found or started here.',
    );
  }
  const version = await engineVersion(env);
  if (version !== undefined) return { version, origin: `answering at ${SOCKET}` };
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new SetupError(
      'No Docker engine answers, and only root could start one.',
      `Start Docker, let this user reach ${SOCKET}, or set DOCKER_HOST.`,
    );
  }
  const path = `${env.PATH}:${SYSTEM_FOLDERS}`;
  let dockerd = findProgram('dockerd', path);
  let origin = 'dockerd started';
  if (dockerd === undefined) {
    if (!packages.possible) {
      throw new SetupError('There is no Docker engine here.', 'Install Docker, or set DOCKER_HOST.');
    }
    doing(`installing ${DEBIAN_PACKAGES.join(', ')} with apt-get; about a minute, once per machine`, {
      announce: true,
    });
    await packages.install(DEBIAN_PACKAGES).catch((cause: Error) => {
      throw new SetupError(`docker.io could not be installed. ${cause.message}`, 'Install Docker.', {
        cause,
      });
    });
    dockerd = findProgram('dockerd', path);
    if (dockerd === undefined) throw new SetupError('docker.io brought no dockerd.', 'Install Docker.');
    origin = 'docker.io installed and dockerd started';
    // A package's own service may have started it by now.
    const already = await engineVersion(env);
    if (already !== undefined)
      return { version: already, origin: 'docker.io installed, started by the system' };
  }
  doing('starting dockerd');
  return startDockerd(dockerd, origin, { ...options, env: { ...env, PATH: path } });
}

/** What the step's line says. */
export function describeDockerEngine(engine: DockerEngine): string {
  return `Docker ${engine.version}, ${engine.origin}`;
}

/** The version of the engine that answers, by the usual environment variables, or undefined. */
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

/** Whether containers run that are none of ours: whoever started them would miss the engine. */
export async function servesOthers(): Promise<boolean> {
  const running = await new Docker({ socketPath: SOCKET, timeout: PING_TIMEOUT_MS }).listContainers();
  return running.some(({ Labels }) => !Object.keys(Labels).some((label) => label.startsWith(OUR_LABELS)));
}

/** In a session of its own, with a log of its own: it must outlive us while others use it. */
async function startDockerd(
  dockerd: string,
  origin: string,
  { env, cacheFolder }: FindDockerEngineOptions,
): Promise<DockerEngine> {
  mkdirSync(cacheFolder, { recursive: true });
  const logFile = join(cacheFolder, 'dockerd.log');
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(dockerd, [], { detached: true, stdio: ['ignore', log, log], env });
  closeSync(log);
  child.unref();
  const died = new AbortController();
  once(child, 'exit').then(
    () => died.abort(),
    () => died.abort(),
  );
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && !died.signal.aborted) {
    const version = await engineVersion(env);
    const identity = child.pid === undefined ? undefined : await processIdentity(child.pid);
    if (version !== undefined && identity !== undefined) {
      return { version, origin, started: { pid: child.pid!, identity } };
    }
    await delay(POLL_EVERY_MS, undefined, { signal: died.signal }).catch(() => {});
  }
  if (!died.signal.aborted) child.kill('SIGKILL');
  const words = lastLines(await readFile(logFile, 'utf8').catch(() => ''), LOG_LINES_SHOWN);
  throw new SetupError(
    `dockerd ${died.signal.aborted ? 'died at its start' : `does not answer after ${START_TIMEOUT_MS / 1000} s`}:\n${words}`,
    `Read ${logFile}, or start a Docker engine in another way; SWITCHYARD_COMPUTERS=off goes without.`,
  );
}
