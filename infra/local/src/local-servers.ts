/** Starts the servers of a stack on this machine: NATS, MongoDB and the Docker engine. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DebianPackages } from './debian-packages.ts';
import { type DockerEngine, describeDockerEngine, findDockerEngine } from './docker-engine.ts';
import type { EngineUsers } from './engine-users.ts';
import { freePort, isFree } from './free-port.ts';
import { describeMongoServer, findMongoServer, MONGO_HOST, mongoServerProcess } from './mongo-server.ts';
import { describeNatsServer, findNatsServer, natsServerProcess } from './nats-server.ts';
import { type NatsUsers, readOrMakeUsers, usersFolder, writeNatsConfig } from './nats-users.ts';
import type { Processes } from './processes.ts';
import type { Progress } from './progress.ts';
import { SetupError } from './setup-error.ts';

export interface LocalServersDeps {
  /** Where programs are. */
  readonly env: NodeJS.ProcessEnv;
  readonly dataFolder: string;
  readonly cacheFolder: string;
  readonly packages: DebianPackages;
  readonly processes: Pick<Processes, 'run' | 'stopping'>;
  readonly progress: Progress;
}

interface ServerSettings {
  /** Whether the server may be a container. */
  readonly containers: boolean;
  /** Where it may start an engine, a container waits for it. */
  readonly engineSearch?: Promise<unknown>;
  /** Any free port if undefined. */
  readonly port: number | undefined;
}

const NATS_PORT_PREFERRED = 4222;
const NATS_HOST = '127.0.0.1';

interface Started<S> {
  readonly server: S;
  readonly url: string;
}

interface StartedNats {
  readonly url: string;
  /** Undefined for a server that is not ours. */
  readonly users: NatsUsers | undefined;
}

/** @param hosts the instances of the computer-agent: each gets its own user */
export async function startNats(
  deps: LocalServersDeps,
  settings: ServerSettings,
  hosts: readonly string[],
): Promise<StartedNats> {
  const { env, cacheFolder, dataFolder, processes, progress } = deps;
  const { containers, engineSearch } = settings;
  const { url, users } = await progress.step(
    'NATS',
    async (doing) => {
      const server = await findNatsServer({ env, cacheFolder, containers, engineSearch, doing });
      if (server.kind === 'address') return { server, url: server.url, users: undefined };
      const users = await readOrMakeUsers(dataFolder, hosts);
      const configFile = await writeNatsConfig(usersFolder(dataFolder));
      const storeFolder = join(dataFolder, 'nats');
      await mkdir(storeFolder, { recursive: true });
      const port = await choosePort(NATS_HOST, settings.port, 'SWITCHYARD_NATS_PORT', NATS_PORT_PREFERRED);
      const options = { name: 'nats', server, host: NATS_HOST, port, storeFolder, env };
      await processes.run('server', natsServerProcess({ ...options, configFile })).ready;
      return { server, url: `nats://${NATS_HOST}:${port}`, users };
    },
    summaryOf(describeNatsServer),
  );
  return { url, users };
}

/** Returns the URL of the server. */
export async function startMongo(deps: LocalServersDeps, settings: ServerSettings): Promise<string> {
  const { env, cacheFolder, dataFolder, packages, processes, progress } = deps;
  const { containers, engineSearch } = settings;
  const { url } = await progress.step(
    'MongoDB',
    async (doing) => {
      const folder = join(dataFolder, 'mongo');
      const server = await findMongoServer({
        ...{ env, cacheFolder, packages, folder, doing },
        ...{ containers, engineSearch },
      });
      if (server.kind === 'address') return { server, url: server.url };
      const port = await choosePort(MONGO_HOST, settings.port, 'SWITCHYARD_MONGODB_PORT');
      const spec = await mongoServerProcess({ name: 'mongo', server, port, folder, env });
      await processes.run('server', spec).ready;
      return { server, url: `mongodb://${MONGO_HOST}:${port}` };
    },
    summaryOf(describeMongoServer),
  );
  return url;
}

/** Returns the engine, or the reason why there is none. `without` says what happens then. */
export async function findEngine(
  { env, cacheFolder, packages, processes, progress }: LocalServersDeps,
  users: EngineUsers,
  without: string,
): Promise<DockerEngine | { readonly reason: string }> {
  try {
    await users.join();
    return await progress.step(
      'Docker',
      (doing) => findDockerEngine({ env, cacheFolder, packages, doing, stopping: processes.stopping }),
      describeDockerEngine,
    );
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    progress.note('Docker', `${without}. ${error.message}\nFix: ${error.fix}`);
    return { reason: error.message };
  }
}

function summaryOf<S extends { readonly kind: string }>(describe: (server: S) => string) {
  return ({ server, url }: Started<S>) =>
    `${describe(server)}${server.kind === 'address' ? '' : `, at ${url}`}`;
}

async function choosePort(
  host: string,
  set: number | undefined,
  variable: string,
  preferred?: number,
): Promise<number> {
  if (set === undefined) return freePort(host, preferred);
  if (await isFree(host, set)) return set;
  throw new SetupError(
    `Port ${set} is taken by another program.`,
    `Choose another ${variable}, or unset it.`,
  );
}
