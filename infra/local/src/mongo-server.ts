/**
 * Finds or builds MongoDB: the address in MONGODB_URL, else `mongod` on the PATH, else a container image, else the
 * stand-in (infra/mongo). A data folder keeps the kind of server that created it, because the kinds cannot read each
 * other's files.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  canRunContainers,
  containerName,
  dockerRunArgs,
  hasImage,
  pullImage,
  removeContainer,
} from './container.ts';
import type { DebianPackages } from './debian-packages.ts';
import { MONGO_PING, MONGO_PONG } from './mongo-ping.ts';
import { ensureStandIn, isStandInBuilt, type StandIn, standInCommand } from './mongo-stand-in.ts';
import type { Doing } from './progress.ts';
import { findProgram } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import type { ProcessSpec } from './supervisor.ts';
import { answers } from './tcp-ready.ts';

export const MONGO_IMAGE = 'mongo:8';
const INNER_PORT = 27017;
const STOP_TIMEOUT_MS = 15_000;
const GET_PROGRAM = 'Install mongod again';
const GET_CONTAINER = `Start Docker and pull ${MONGO_IMAGE}`;

const KINDS = ['program', 'container', 'stand-in'] as const;
type Kind = (typeof KINDS)[number];

type MongoServer =
  | { readonly kind: 'address'; readonly url: string }
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'container'; readonly image: string }
  | { readonly kind: 'stand-in'; readonly standIn: StandIn };

interface FindMongoServerOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheFolder: string;
  readonly packages: DebianPackages;
  /** Whether a container may begin a folder. */
  readonly containers: boolean;
  /** A container waits for it. */
  readonly engineSearch?: Promise<unknown> | undefined;
  /** The folder of the data. A folder in use keeps its kind of server. */
  readonly folder: string;
  readonly doing: Doing;
}

/** @throws SetupError if there is none and none can be built */
export async function findMongoServer(options: FindMongoServerOptions): Promise<MongoServer> {
  const { env, folder } = options;
  if (env.MONGODB_URL) return { kind: 'address', url: env.MONGODB_URL };
  const begun = await readKind(folder);
  const server = begun === undefined ? await findForNewFolder(options) : await find[begun](options, true);
  if (server === undefined) {
    throw new SetupError(
      `The database in ${folder} was created by a MongoDB ${begun}, which is not available now.`,
      `${begun === 'container' ? GET_CONTAINER : GET_PROGRAM}, set MONGODB_URL, or move ${folder} away to start with a new database.`,
    );
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'kind'), `${server.kind}\n`);
  return server;
}

/** The result in the step's line. */
export function describeMongoServer(server: MongoServer): string {
  switch (server.kind) {
    case 'address':
      return 'the server of MONGODB_URL';
    case 'program':
      return `mongod on the PATH (${server.path})`;
    case 'container':
      return `container of ${server.image}`;
    case 'stand-in':
      return `stand-in for trying and testing (no MongoDB here), ${server.standIn.origin}`;
  }
}

interface RunMongoServerOptions {
  readonly name: string;
  readonly server: Exclude<MongoServer, { kind: 'address' }>;
  readonly port: number;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

export const MONGO_HOST = '127.0.0.1';

export async function mongoServerProcess(options: RunMongoServerOptions): Promise<ProcessSpec> {
  const { name, server, port, folder, env } = options;
  const files = join(folder, server.kind);
  await mkdir(files, { recursive: true });
  const common = {
    name,
    cwd: files,
    env,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    ready: (signal: AbortSignal) =>
      answers({ host: MONGO_HOST, port, say: MONGO_PING, expect: MONGO_PONG }, signal),
  };
  switch (server.kind) {
    case 'program': {
      const args = ['--dbpath', files, '--bind_ip', MONGO_HOST, '--port', String(port)];
      return { ...common, command: server.path, args };
    }
    case 'container': {
      const container = containerName(name, folder);
      const run = { name: container, image: server.image, args: [], innerPort: INNER_PORT, port };
      const args = dockerRunArgs({ ...run, mounts: { [files]: '/data/db' } });
      return { ...common, command: 'docker', args, beforeStart: () => removeContainer(container, env) };
    }
    case 'stand-in':
      return { ...common, ...standInCommand(server.standIn, join(files, 'data.h2'), port) };
  }
}

async function findForNewFolder(options: FindMongoServerOptions): Promise<MongoServer | undefined> {
  for (const kind of KINDS) {
    const server = await find[kind](options, false);
    if (server !== undefined) return server;
  }
  return undefined;
}

/** `isBegun`: the folder's files are of this kind, so no other kind will do. */
const find: Record<
  Kind,
  (options: FindMongoServerOptions, isBegun: boolean) => Promise<MongoServer | undefined>
> = {
  async program({ env }) {
    const path = findProgram('mongod', env.PATH);
    return path === undefined ? undefined : { kind: 'program', path };
  },
  async container({ env, cacheFolder, containers, engineSearch, doing }, isBegun) {
    if (!(containers || isBegun) || !(await canRunContainers(env, engineSearch))) return undefined;
    if (await hasImage(MONGO_IMAGE, env)) return { kind: 'container', image: MONGO_IMAGE };
    // An earlier build is faster than a download.
    if (!isBegun && (await isStandInBuilt(cacheFolder))) return undefined;
    doing(`pulling ${MONGO_IMAGE}`);
    return (await pullImage(MONGO_IMAGE, env)) ? { kind: 'container', image: MONGO_IMAGE } : undefined;
  },
  async 'stand-in'({ env, cacheFolder, packages, doing }) {
    return { kind: 'stand-in', standIn: await ensureStandIn({ env, cacheFolder, packages, doing }) };
  },
};

async function readKind(folder: string): Promise<Kind | undefined> {
  const kind = (await readFile(join(folder, 'kind'), 'utf8').catch(() => '')).trim();
  return KINDS.find((known) => known === kind);
}
