/**
 * Finds or builds nats-server: the address in NATS_URL, else the program on the PATH, else an earlier build, else a
 * container image, else `go install` from the Go module proxy.
 */
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import {
  canRunContainers,
  containerName,
  dockerRunArgs,
  hasImage,
  pullImage,
  removeContainer,
} from './container.ts';
import type { Doing } from './progress.ts';
import { findProgram, runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import type { ProcessSpec } from './supervisor.ts';
import { answers } from './tcp-ready.ts';
import { makeOnce } from './tools-cache.ts';
import { isVersionAtLeast, readVersion } from './version.ts';

/** Older ones lack parts of JetStream that the bus uses (per-message limits, batched direct gets). */
const NATS_SERVER_VERSION_MIN = '2.12.0';
const BUILT_VERSION = '2.15.2';
export const NATS_IMAGE = 'nats:2.12-alpine';
const GO_MODULE = `github.com/nats-io/nats-server/v2@v${BUILT_VERSION}`;
const INNER_PORT = 4222;
const INNER_CONFIG_FOLDER = '/etc/switchyard';
const VERSION_TIMEOUT_MS = 10_000;
const BUILD_TIMEOUT_MS = 10 * 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** One thread: on two cores shared with the services, a second thread makes calls slower. */
const SMALL_MACHINE_ENV = availableParallelism() <= 2 ? { GOMAXPROCS: '1' } : {};

type NatsServer =
  | { readonly kind: 'address'; readonly url: string }
  | NatsProgram
  | { readonly kind: 'container'; readonly image: string };

interface NatsProgram {
  readonly kind: 'program';
  readonly path: string;
  readonly version: string;
  readonly origin: string;
}

interface FindNatsServerOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheFolder: string;
  /** Whether a container is allowed. Tests that kill the server need the program. */
  readonly containers: boolean;
  /** A container waits for it. */
  readonly engineSearch?: Promise<unknown> | undefined;
  readonly doing: Doing;
}

/** @throws SetupError if there is none and none can be built */
export async function findNatsServer(options: FindNatsServerOptions): Promise<NatsServer> {
  const { env, cacheFolder } = options;
  if (env.NATS_URL) return { kind: 'address', url: env.NATS_URL };
  const onPath = findProgram('nats-server', env.PATH);
  if (onPath !== undefined) {
    const version = await programVersion(onPath);
    if (isVersionAtLeast(version, NATS_SERVER_VERSION_MIN)) {
      return { kind: 'program', path: onPath, version, origin: 'on the PATH' };
    }
    options.doing(`${onPath} is ${version}, older than ${NATS_SERVER_VERSION_MIN}; not used`, {
      announce: true,
    });
  }
  const built = builtNatsServer(cacheFolder);
  if (built === undefined && options.containers && (await haveImage(options))) {
    return { kind: 'container', image: NATS_IMAGE };
  }
  return built ?? ensureBuiltNatsServer(options);
}

/** Builds the program. It is static, so it also runs in an image without libraries. */
export async function ensureBuiltNatsServer({
  env,
  cacheFolder,
  doing,
}: Omit<FindNatsServerOptions, 'containers' | 'engineSearch'>): Promise<NatsProgram> {
  const built = builtNatsServer(cacheFolder);
  if (built !== undefined) return built;
  const go = findProgram('go', env.PATH);
  if (go === undefined) {
    throw new SetupError(
      `NATS not found: no nats-server ${NATS_SERVER_VERSION_MIN} or newer, no image ${NATS_IMAGE}, and no Go to build one.`,
      'Install nats-server or Go, or set NATS_URL.',
    );
  }
  doing(`building ${GO_MODULE} with go install; takes about a minute, once per machine`, { announce: true });
  const folder = builtFolder(cacheFolder);
  await makeOnce(folder, (unfinished) => goInstall(go, unfinished, env));
  return { ...builtProgram(folder), origin: `built with go install, in ${folder}` };
}

/** The result in the step's line. */
export function describeNatsServer(server: NatsServer): string {
  switch (server.kind) {
    case 'address':
      return `${withoutPassword(server.url)}, from NATS_URL`;
    case 'program':
      return `nats-server ${server.version}, ${server.origin}`;
    case 'container':
      return `container of ${server.image}`;
  }
}

interface RunNatsServerOptions {
  readonly name: string;
  readonly server: Exclude<NatsServer, { kind: 'address' }>;
  readonly host: string;
  readonly port: number;
  readonly storeFolder: string;
  readonly configFile: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs nats-server with our configuration file; address, port and folder are flags. */
export function natsServerProcess(options: RunNatsServerOptions): ProcessSpec {
  const { name, server, host, port, storeFolder, configFile, env } = options;
  const common = {
    name,
    cwd: storeFolder,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    ready: (signal: AbortSignal) => answers({ host, port, expect: /^INFO .*"jetstream":true/ }, signal),
  };
  if (server.kind === 'program') {
    const args = ['-c', configFile, '-a', host, '-p', String(port), '-sd', storeFolder];
    return { ...common, command: server.path, args, env: { ...SMALL_MACHINE_ENV, ...env } };
  }
  const container = containerName(name, storeFolder);
  const args = dockerRunArgs({
    name: container,
    image: server.image,
    args: ['-c', `${INNER_CONFIG_FOLDER}/${basename(configFile)}`, '-sd', '/data'],
    innerPort: INNER_PORT,
    port,
    // The folder: a mounted file would stay the old one when nats-users.ts replaces it.
    mounts: { [storeFolder]: '/data', [dirname(configFile)]: `${INNER_CONFIG_FOLDER}:ro` },
  });
  return { ...common, command: 'docker', args, env, beforeStart: () => removeContainer(container, env) };
}

function builtFolder(cacheFolder: string): string {
  return join(cacheFolder, `nats-server-${BUILT_VERSION}`);
}

function builtProgram(folder: string) {
  return { kind: 'program', path: join(folder, 'nats-server'), version: BUILT_VERSION } as const;
}

function builtNatsServer(cacheFolder: string): NatsProgram | undefined {
  const folder = builtFolder(cacheFolder);
  const program = builtProgram(folder);
  if (findProgram(program.path, undefined) === undefined) return undefined;
  return { ...program, origin: `built before, in ${folder}` };
}

async function haveImage({ env, engineSearch, doing }: FindNatsServerOptions): Promise<boolean> {
  if (!(await canRunContainers(env, engineSearch))) return false;
  if (await hasImage(NATS_IMAGE, env)) return true;
  doing(`pulling ${NATS_IMAGE}`);
  return pullImage(NATS_IMAGE, env);
}

async function programVersion(path: string): Promise<string> {
  const { stdout } = await runCommand(path, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS });
  return readVersion(stdout) ?? 'of an unknown version';
}

/** Building without cgo makes the program static. */
async function goInstall(go: string, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await runCommand(go, ['install', '-trimpath', GO_MODULE], {
      timeoutMs: BUILD_TIMEOUT_MS,
      env: { ...env, GOBIN: folder, CGO_ENABLED: '0' },
    });
  } catch (cause) {
    throw new SetupError(
      `nats-server could not be built. ${(cause as Error).message}`,
      'Check that Go reaches its module proxy, or install nats-server, or set NATS_URL.',
      { cause },
    );
  }
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}
