/**
 * Runs a server from a container image. The supervisor watches the attached `docker run`. Killing that client does not
 * stop the container, so the container is removed before the next start.
 */
import { createHash } from 'node:crypto';
import { CommandError, findProgram, runCommand } from './run-command.ts';

const COMMAND_TIMEOUT_MS = 20_000;
/** Long enough for a small image or a fast registry. On a slow network, pull the image by hand. */
const PULL_TIMEOUT_MS = 90_000;
const FOLDER_HASH_CHARS = 12;

/** Whether the engine has the image. */
export async function hasImage(image: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await runCommand('docker', ['image', 'inspect', image], { timeoutMs: COMMAND_TIMEOUT_MS, env });
    return true;
  } catch {
    return false;
  }
}

/** Whether the image could be pulled within PULL_TIMEOUT_MS. */
export async function pullImage(image: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await runCommand('docker', ['pull', '--quiet', image], { timeoutMs: PULL_TIMEOUT_MS, env });
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether containers can run with folders of this machine mounted: there is a docker client, and an engine answers on
 * this host, at once or after `engineSearch`, which may start one.
 */
export async function canRunContainers(
  env: NodeJS.ProcessEnv,
  engineSearch: Promise<unknown> | undefined,
): Promise<boolean> {
  if (findProgram('docker', env.PATH) === undefined) return false;
  if (env.DOCKER_HOST !== undefined && !env.DOCKER_HOST.startsWith('unix:')) return false;
  if (await engineAnswers(env)) return true;
  if (engineSearch === undefined) return false;
  await engineSearch;
  return engineAnswers(env);
}

async function engineAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await runCommand('docker', ['version'], { timeoutMs: COMMAND_TIMEOUT_MS, env });
    return true;
  } catch {
    return false;
  }
}

interface ContainerRun {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  /** The port in the container, published on 127.0.0.1:`port`. */
  readonly innerPort: number;
  readonly port: number;
  /** Mounts: folder of this machine -> folder in the container. */
  readonly mounts: Readonly<Record<string, string>>;
}

/** The arguments of `docker` for an attached run whose files belong to this user. */
export function dockerRunArgs(run: ContainerRun): string[] {
  const owner = process.getuid && process.getgid ? ['--user', `${process.getuid()}:${process.getgid()}`] : [];
  return [
    'run',
    '--rm',
    ...['--name', run.name],
    ...owner,
    ...['--publish', `127.0.0.1:${run.port}:${run.innerPort}`],
    ...Object.entries(run.mounts).flatMap(([from, to]) => ['--volume', `${from}:${to}`]),
    run.image,
    ...run.args,
  ];
}

/**
 * The name of the container that serves a data folder. It is the same at each start, so that a start finds the
 * container that a killed launcher left on the folder's files.
 */
export function containerName(name: string, folder: string): string {
  return `switchyard-${name}-${createHash('sha256').update(folder).digest('hex').slice(0, FOLDER_HASH_CHARS)}`;
}

/** Removes a container by its name, if it exists. */
export async function removeContainer(name: string, env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await runCommand('docker', ['rm', '--force', name], { timeoutMs: COMMAND_TIMEOUT_MS, env });
  } catch (error) {
    if (error instanceof CommandError && error.message.includes('No such container')) return;
    throw error;
  }
}
