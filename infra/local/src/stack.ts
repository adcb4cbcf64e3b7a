/**
 * The local stack: finds or installs NATS, MongoDB and a Docker engine, starts and supervises the services, and stops
 * all of them in order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { HOST_SERVICE } from '@switchyard/contracts';
import { reachable, removeAddresses, writeAddresses } from './addresses.ts';
import type { LauncherConfig } from './config.ts';
import { ensureConsole } from './console-build.ts';
import { type DataLock, lockDataFolder } from './data-lock.ts';
import { createDebianPackages } from './debian-packages.ts';
import { servesOthers } from './docker-engine.ts';
import { createEngineUsers } from './engine-users.ts';
import { ensureLocalPrograms } from './local-programs.ts';
import { findEngine, type LocalServersDeps, startMongo, startNats } from './local-servers.ts';
import { createProcesses } from './processes.ts';
import type { Progress } from './progress.ts';
import { readOrMakeKey, readOrMakeProvidersSecret } from './secret-files.ts';
import type { LocalService } from './services.ts';
import { signInLink } from './sign-in-link.ts';
import { checkNames, chosenServices, instancesOf, startServices } from './start-services.ts';
import { toolsCacheFolder } from './tools-cache.ts';

interface StackDeps {
  readonly config: LauncherConfig;
  /** The environment of the launcher: where programs are, and what services inherit. */
  readonly env: NodeJS.ProcessEnv;
  readonly services: readonly LocalService[];
  readonly progress: Progress;
}

interface Served {
  /** The edge's URL. */
  readonly url: string;
  /** Where a browser signs in to the console; undefined without a console. */
  readonly signInUrl: string | undefined;
}

export interface Stack {
  /** Resolves when all services serve. Throws SetupError; call `stop` then. */
  start(): Promise<Served>;
  /** Drains and stops all processes, the entry first. May be called at any moment, also during `start`. */
  stop(): Promise<void>;
  /** Kills all processes at once, so that a running `stop` ends quickly. */
  kill(): void;
}

/** How long a stop waits for an unfinished search for the Docker engine. */
const ENGINE_SEARCH_PATIENCE_MS = 5_000;
/** How long services that are ready wait for an installation of the local models' programs. */
const LOCAL_PROGRAMS_PATIENCE_MS = 60_000;

export function createStack(deps: StackDeps): Stack {
  const { config, env, progress } = deps;
  const { dataFolder, computers: containers } = config;
  const cacheFolder = toolsCacheFolder(env);
  const packages = createDebianPackages(env);
  const engineUsers = createEngineUsers(cacheFolder, { servesOthers });
  const processes = createProcesses(dataFolder, progress);
  const servers: LocalServersDeps = { env, dataFolder, cacheFolder, packages, processes, progress };
  let lock: DataLock | undefined;
  let engineSearch: ReturnType<typeof findEngine> | undefined;
  let stopped: Promise<void> | undefined;

  return {
    async start() {
      checkNames(deps);
      lock = await lockDataFolder(dataFolder);
      await processes.endLeftovers();
      const key = await readKey(config, progress);
      const providersSecret = config.providersSecret ?? (await readOrMakeProvidersSecret(dataFolder));
      engineSearch = containers
        ? findEngine(servers, engineUsers, 'continuing without computers')
        : Promise.resolve({ reason: 'Computers are switched off (SWITCHYARD_COMPUTERS=off).' });
      // In the queue of apt-get after the packages that the servers need at once.
      const localPrograms = engineSearch.then(installLocalPrograms, () => {});
      const [nats, mongoUrl, engine] = await Promise.all([
        startNats(servers, { containers, engineSearch, port: config.natsPort }, hostsOf(deps)),
        startMongo(servers, { containers, engineSearch, port: config.mongoPort }),
        engineSearch,
        buildConsole(),
      ]);
      const noComputers = 'reason' in engine ? engine.reason : undefined;
      const { host, port } = config;
      const reached = { natsUrl: nats.url, natsUsers: nats.users, mongoUrl };
      const facts = { ...reached, dataFolder, key, providersSecret, host, port, noComputers };
      await writeAddresses(facts);
      const url = await startServices({ ...deps, processes }, facts);
      await untilInstalled(localPrograms, progress);
      return { url, signInUrl: servesConsole() ? await signInLink(reachable(url), key) : undefined };
    },
    stop() {
      stopped ??= stopAll();
      return stopped;
    },
    kill: () => processes.kill(),
  };

  async function installLocalPrograms(): Promise<void> {
    if (chosenServices(deps).some(({ usesLocalPrograms }) => usesLocalPrograms))
      await ensureLocalPrograms({ env, packages, progress });
  }

  function servesConsole(): boolean {
    return chosenServices(deps).some((service) => service.servesConsole);
  }

  async function buildConsole(): Promise<void> {
    if (servesConsole()) await progress.step('console', (doing) => ensureConsole(env, doing), String);
  }

  async function stopAll(): Promise<void> {
    try {
      await processes.stop();
      await leaveEngine();
    } finally {
      if (lock !== undefined) {
        await removeAddresses(dataFolder);
        lock.release();
      }
    }
  }

  async function leaveEngine(): Promise<void> {
    const patience = delay(ENGINE_SEARCH_PATIENCE_MS, undefined, { ref: false });
    const engine = await Promise.race([engineSearch?.catch(() => undefined), patience]);
    if (await engineUsers.leave(engine && 'started' in engine ? engine.started : undefined)) {
      progress.note('Docker', 'stopped the engine that was started here');
    }
  }
}

/** The instances of the computer-agent. */
function hostsOf(deps: StackDeps): string[] {
  const agents = chosenServices(deps).filter(({ name }) => name === HOST_SERVICE);
  return agents.flatMap((agent) => instancesOf(agent, deps.config.scale));
}

async function readKey({ key: set, dataFolder }: LauncherConfig, progress: Progress): Promise<string> {
  if (set !== undefined) return set;
  const { key, made, file } = await readOrMakeKey(dataFolder);
  if (made) progress.note('key', `${key} has every permission; shown only once, kept in ${file}`);
  return key;
}

/** A network that does not answer must not keep the other models from serving. */
async function untilInstalled(localPrograms: Promise<void>, progress: Progress): Promise<void> {
  const patience = delay(LOCAL_PROGRAMS_PATIENCE_MS, 'late' as const, { ref: false });
  if ((await Promise.race([localPrograms, patience])) === 'late')
    progress.note('local models', 'still installing programs; until then calls of some models fail');
}
