/**
 * The local stack: NATS, MongoDB, a Docker engine and the services, each found or made, started, watched, and
 * stopped in order. `npm start` is this and a few lines of process handling.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LauncherConfig, ROOT } from './config.ts';
import { type DataLock, lockDataFolder } from './data-lock.ts';
import { createDebianPackages } from './debian-packages.ts';
import { type DockerEngine, describeDockerEngine, findDockerEngine, servesOthers } from './docker-engine.ts';
import { createEngineUsers } from './engine-users.ts';
import { freePort, isFree } from './free-port.ts';
import { readOrMakeKey } from './key-file.ts';
import { describeMongoServer, findMongoServer, MONGO_HOST, mongoServerProcess } from './mongo-server.ts';
import { describeNatsServer, findNatsServer, natsServerProcess } from './nats-server.ts';
import { createPidFiles } from './pid-files.ts';
import { openProcessLog } from './process-log.ts';
import type { Progress } from './progress.ts';
import { type StackFacts, serviceEnvironment } from './service-environment.ts';
import type { LocalService } from './services.ts';
import { SetupError } from './setup-error.ts';
import { type ProcessSpec, type Supervised, supervise } from './supervisor.ts';
import { toolsCacheFolder } from './tools-cache.ts';

export interface StackOptions {
  readonly config: LauncherConfig;
  /** The environment of the machine: where programs are, and what is passed on. */
  readonly env: NodeJS.ProcessEnv;
  readonly services: readonly LocalService[];
  readonly progress: Progress;
}

export interface Stack {
  /** Resolves with the edge's URL when all services serve. Throws SetupError; call `stop` then. */
  start(): Promise<string>;
  /** Drains and stops all that was started, the entry first. May be called at any moment, also during `start`. */
  stop(): Promise<void>;
  /** Makes a `stop` under way a quick one. */
  kill(): void;
}

const NATS_PORT_PREFERRED = 4222;
const NATS_HOST = '127.0.0.1';
const NATS_CONFIG = join(ROOT, 'infra', 'nats', 'server.conf');
/** Longer than the services' own bound on their drain (libs/service). */
const SERVICE_STOP_TIMEOUT_MS = 20_000;
const READY_TIMEOUT_MS = 60_000;
const HEALTH_POLL_EVERY_MS = 50;
const HEALTH_TIMEOUT_MS = 2_000;
/** A search for an engine that is under way when all is stopped. */
const ENGINE_SEARCH_PATIENCE_MS = 5_000;

export function createStack({ config, env, services, progress }: StackOptions): Stack {
  const folder = config.dataFolder;
  const pidFiles = createPidFiles(join(folder, 'run'));
  const cacheFolder = toolsCacheFolder(env);
  const packages = createDebianPackages(env);
  const engineUsers = createEngineUsers(cacheFolder, { servesOthers });
  const stopping = new AbortController();
  const running: Record<'entry' | 'worker' | 'server', Supervised[]> = { entry: [], worker: [], server: [] };
  let lock: DataLock | undefined;
  let engineSearch: Promise<EngineOrReason> | undefined;
  let stopped: Promise<void> | undefined;

  return {
    async start() {
      checkNames(config, services);
      lock = await lockDataFolder(folder);
      await clearLeftovers();
      const key = await readKey();
      engineSearch = findEngine();
      const [natsUrl, mongoUrl, engine] = await Promise.all([startNats(), startMongo(), engineSearch]);
      const noComputers = 'reason' in engine ? engine.reason : undefined;
      const { host, port } = config;
      const facts = { natsUrl, mongoUrl, dataFolder: folder, key, host, port, noComputers };
      await writeAddresses(facts);
      return startServices(facts);
    },
    stop() {
      stopping.abort();
      stopped ??= stopAll();
      return stopped;
    },
    kill() {
      for (const one of Object.values(running).flat()) one.kill();
    },
  };

  function run(role: keyof typeof running, spec: ProcessSpec): Supervised {
    if (stopping.signal.aborted) throw new Error('The stack is being stopped');
    const note = (text: string) => progress.note(spec.name, text);
    const log = openProcessLog(join(folder, 'logs', `${spec.name}.log`), note);
    const supervised = supervise(spec, { log, pidFiles, note });
    running[role].push(supervised);
    return supervised;
  }

  async function clearLeftovers(): Promise<void> {
    const ended = await pidFiles.endLeftovers(['nats', 'mongo']);
    if (ended.length > 0)
      progress.note('left over', `ended what an earlier start left running: ${ended.join(', ')}`);
  }

  async function readKey(): Promise<string> {
    if (config.key !== undefined) return config.key;
    const { key, made, file } = await readOrMakeKey(folder);
    if (made) progress.note('key', `${key} has every permission; shown this once, kept in ${file}`);
    return key;
  }

  async function startNats(): Promise<string> {
    return progress
      .step(
        'NATS',
        async (doing) => {
          const server = await findNatsServer({ env, cacheFolder, containers: config.computers, doing });
          if (server.kind === 'address') return { server, url: server.url };
          const storeFolder = join(folder, 'nats');
          await mkdir(storeFolder, { recursive: true });
          const port = await choosePort(
            NATS_HOST,
            config.natsPort,
            'SWITCHYARD_NATS_PORT',
            NATS_PORT_PREFERRED,
          );
          const options = { name: 'nats', server, host: NATS_HOST, port, storeFolder, env };
          await run('server', natsServerProcess({ ...options, configFile: NATS_CONFIG })).ready;
          return { server, url: `nats://${NATS_HOST}:${port}` };
        },
        ({ server, url }) => `${describeNatsServer(server)}${server.kind === 'address' ? '' : `, at ${url}`}`,
      )
      .then(({ url }) => url);
  }

  async function startMongo(): Promise<string> {
    return progress
      .step(
        'MongoDB',
        async (doing) => {
          const files = join(folder, 'mongo');
          const containers = config.computers;
          const server = await findMongoServer({
            env,
            cacheFolder,
            packages,
            containers,
            folder: files,
            doing,
          });
          if (server.kind === 'address') return { server, url: server.url };
          const port = await choosePort(MONGO_HOST, config.mongoPort, 'SWITCHYARD_MONGODB_PORT');
          await run('server', await mongoServerProcess({ name: 'mongo', server, port, folder: files, env }))
            .ready;
          return { server, url: `mongodb://${MONGO_HOST}:${port}` };
        },
        ({ server, url }) =>
          `${describeMongoServer(server)}${server.kind === 'address' ? '' : `, at ${url}`}`,
      )
      .then(({ url }) => url);
  }

  async function findEngine(): Promise<EngineOrReason> {
    if (!config.computers) return { reason: 'computers are switched off here (SWITCHYARD_COMPUTERS=off)' };
    try {
      await engineUsers.join();
      return await progress.step(
        'Docker',
        (doing) => findDockerEngine({ env, cacheFolder, packages, doing }),
        describeDockerEngine,
      );
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      progress.note('Docker', `going on without computers. ${error.message}\nMend: ${error.mend}`);
      return { reason: error.message };
    }
  }

  /** For what else runs on this machine and wants to know where things are, like `npm run events`. */
  async function writeAddresses(facts: StackFacts): Promise<void> {
    const addresses = {
      NATS_URL: facts.natsUrl,
      MONGODB_URL: facts.mongoUrl,
      SWITCHYARD_URL: urlOf(config),
    };
    await mkdir(join(folder, 'run'), { recursive: true });
    await writeFile(addressesFile(folder), `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
  }

  async function startServices(facts: StackFacts): Promise<string> {
    const chosen = services
      .filter(({ name }) => config.services?.includes(name) ?? true)
      .filter(({ needsDocker }) => !(needsDocker && facts.noComputers !== undefined));
    if (chosen.some(({ role }) => role === 'entry') && !(await isFree(config.host, config.port))) {
      throw new SetupError(
        `Port ${config.port} at ${config.host} is taken by another program.`,
        'Stop it, or choose another port: PORT=8081 npm start.',
      );
    }
    await progress.step(
      'services',
      async (doing) => {
        const started = chosen.flatMap((service) =>
          instancesOf(service, config.scale).map((instance) =>
            run(service.role, serviceProcess(service, instance, env, facts)),
          ),
        );
        await allReady(started, doing, folder);
        if (chosen.some(({ role }) => role === 'entry')) await healthy(urlOf(config), stopping.signal);
      },
      () => chosen.map(({ name }) => name).join(', '),
    );
    return urlOf(config);
  }

  async function stopAll(): Promise<void> {
    for (const role of ['entry', 'worker', 'server'] as const) {
      await Promise.all(running[role].map((one) => one.stop()));
    }
    const patience = delay(ENGINE_SEARCH_PATIENCE_MS, undefined, { ref: false });
    const engine = await Promise.race([engineSearch?.catch(() => undefined), patience]);
    if (await engineUsers.leave(engine && 'started' in engine ? engine.started : undefined)) {
      progress.note('Docker', 'stopped the engine that was started here');
    }
    if (lock === undefined) return;
    await rm(addressesFile(folder), { force: true });
    await lock.release();
  }
}

/** Where `writeAddresses` writes: NATS_URL, MONGODB_URL and SWITCHYARD_URL of the running stack, as JSON. */
export function addressesFile(dataFolder: string): string {
  return join(dataFolder, 'run', 'addresses.json');
}

type EngineOrReason = DockerEngine | { readonly reason: string };

function serviceProcess(
  service: LocalService,
  instance: string,
  machine: NodeJS.ProcessEnv,
  facts: StackFacts,
): ProcessSpec {
  return {
    name: instance,
    command: process.execPath,
    args: [...(service.flags ?? []), service.entry],
    cwd: ROOT,
    env: serviceEnvironment(service, instance, machine, facts),
    ready: 'message',
    goesFirst: service.goesFirst,
    hasStandby: service.hasStandby,
    stopTimeoutMs: SERVICE_STOP_TIMEOUT_MS,
  };
}

/** A name that is misspelt is an error, not a service less. */
function checkNames(config: LauncherConfig, services: readonly LocalService[]): void {
  const known = services.map(({ name }) => name);
  const named = { SWITCHYARD_SERVICES: config.services ?? [], SWITCHYARD_SCALE: Object.keys(config.scale) };
  for (const [variable, names] of Object.entries(named)) {
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length === 0) continue;
    throw new SetupError(
      `${variable} names no service of ours: ${unknown.join(', ')}.`,
      `The services are ${known.join(', ')}.`,
    );
  }
}

/** `control`, `control-2`, … */
function instancesOf({ name, role }: LocalService, scale: Readonly<Record<string, number>>): string[] {
  const count = scale[name] ?? 1;
  if (role === 'entry' && count > 1) {
    throw new SetupError(
      `SWITCHYARD_SCALE asks for ${count} of ${name}, but one address has room for one.`,
      `Take ${name} out of SWITCHYARD_SCALE.`,
    );
  }
  return Array.from({ length: count }, (_, index) => (index === 0 ? name : `${name}-${index + 1}`));
}

async function allReady(
  started: readonly Supervised[],
  doing: (text: string) => void,
  folder: string,
): Promise<void> {
  const waiting = new Set(started.map(({ name }) => name));
  const tell = () => doing(`waiting for ${[...waiting].join(', ')}`);
  tell();
  const all = started.map(async (one) => {
    await one.ready;
    waiting.delete(one.name);
    tell();
  });
  const late = delay(READY_TIMEOUT_MS, 'late' as const, { ref: false });
  if ((await Promise.race([Promise.all(all), late])) !== 'late') return;
  throw new SetupError(
    `Not ready after ${READY_TIMEOUT_MS / 1000} s: ${[...waiting].join(', ')}.`,
    `Read their logs in ${join(folder, 'logs')}.`,
  );
}

/** Resolves when `GET /healthz` answers 200. */
async function healthy(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  let last = 'no answer';
  while (performance.now() < deadline) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]);
      const { status } = await fetch(new URL('/healthz', reachable(url)), { signal: limit });
      if (status === 200) return;
      last = `status ${status}`;
    } catch (error) {
      signal.throwIfAborted();
      last = (error as Error).message;
    }
    await delay(HEALTH_POLL_EVERY_MS, undefined, { signal });
  }
  throw new SetupError(`GET ${url}/healthz: ${last}.`, 'Read the log of the edge in <data>/logs/edge.log.');
}

function urlOf({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** An address to listen on is not always one to connect to. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
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
