/**
 * Finds Docker Compose for the tests of docker-compose.yml: the plugin of the docker client, else the program
 * docker-compose, else Debian's package, which only root can install.
 */
import type { DebianPackages } from './debian-packages.ts';
import type { Doing } from './progress.ts';
import { findProgram, runCommand } from './run-command.ts';
import { readVersion } from './version.ts';

interface DockerCompose {
  readonly version: string;
  readonly origin: string;
  readonly command: string;
  /** Before the arguments of Compose itself: `docker compose …`, `docker-compose …`. */
  readonly args: readonly string[];
}

interface FindDockerComposeOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly packages: DebianPackages;
  readonly doing: Doing;
}

const VERSION_TIMEOUT_MS = 20_000;
const DEBIAN_PACKAGE = 'docker-compose';

/** @throws if there is none and none can be installed */
export async function findDockerCompose(options: FindDockerComposeOptions): Promise<DockerCompose> {
  const { env, packages, doing } = options;
  const found = await presentDockerCompose(env);
  if (found !== undefined) return found;
  if (packages.possible) {
    doing(`installing ${DEBIAN_PACKAGE} with apt-get; about 20 s, once per machine`, { announce: true });
    await packages.install([DEBIAN_PACKAGE]);
  }
  const installed = await presentDockerCompose(env);
  if (installed !== undefined) return { ...installed, origin: 'installed with apt-get' };
  throw new Error('Docker Compose not found. Install the Compose plugin of Docker, or docker-compose.');
}

/** The installed Docker Compose, or undefined. */
export async function presentDockerCompose(env: NodeJS.ProcessEnv): Promise<DockerCompose | undefined> {
  const docker = findProgram('docker', env.PATH);
  const standalone = findProgram('docker-compose', env.PATH);
  return (
    (docker && (await tryCompose(docker, ['compose'], 'the plugin of the docker client', env))) ||
    (standalone && (await tryCompose(standalone, [], `docker-compose on the PATH (${standalone})`, env))) ||
    undefined
  );
}

/** The result in the step's line. */
export function describeDockerCompose({ version, origin }: DockerCompose): string {
  return `Docker Compose ${version}, ${origin}`;
}

async function tryCompose(
  command: string,
  args: readonly string[],
  origin: string,
  env: NodeJS.ProcessEnv,
): Promise<DockerCompose | undefined> {
  try {
    const { stdout } = await runCommand(command, [...args, 'version', '--short'], {
      timeoutMs: VERSION_TIMEOUT_MS,
      env,
    });
    return { version: readVersion(stdout) ?? stdout.trim(), origin, command, args };
  } catch {
    // A client without the plugin rejects the subcommand.
    return undefined;
  }
}
