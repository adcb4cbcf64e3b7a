/**
 * Runs a server from a container image, as one more way to come by it. The attached `docker run` is the process
 * that is supervised; a container that outlives it (a kill of the client does not reach it) is removed before the
 * next start.
 */
import { CommandError, findProgram, runCommand } from './run-command.ts';

const COMMAND_TIMEOUT_MS = 20_000;
/** Long enough for a small image or a near registry; whoever is slower pulls it by hand. */
const PULL_TIMEOUT_MS = 90_000;

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
 * Whether containers can be run from here with folders of this machine mounted: a docker client, and an engine
 * that answers and is not on another host.
 */
export async function canRunContainers(env: NodeJS.ProcessEnv): Promise<boolean> {
  if (findProgram('docker', env.PATH) === undefined) return false;
  if (env.DOCKER_HOST !== undefined && !env.DOCKER_HOST.startsWith('unix:')) return false;
  try {
    await runCommand('docker', ['version'], { timeoutMs: COMMAND_TIMEOUT_MS, env });
    return true;
  } catch {
    return false;
  }
}

export interface ContainerRun {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  /** The port inside, published on 127.0.0.1:`port`. */
  readonly innerPort: number;
  readonly port: number;
  /** Mounted: folder here -> folder inside. */
  readonly mounts: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
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
    ...Object.entries(run.env ?? {}).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    run.image,
    ...run.args,
  ];
}

/** Removes a container by its name; there being none is fine. */
export async function removeContainer(name: string, env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await runCommand('docker', ['rm', '--force', name], { timeoutMs: COMMAND_TIMEOUT_MS, env });
  } catch (error) {
    if (error instanceof CommandError && error.message.includes('No such container')) return;
    throw error;
  }
}
