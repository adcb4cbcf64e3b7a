/**
 * The servers of a test run. Each test starts its own nats-server. Tests share one MongoDB, with a database each; a test
 * that kills a database starts its own. Where a Docker engine answers, the image of computers is built.
 */
import { ensureImage, IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { createDebianPackages } from './debian-packages.ts';
import { describeDockerCompose, findDockerCompose } from './docker-compose.ts';
import { type StartedEngine, servesOthers } from './docker-engine.ts';
import { createEngineUsers } from './engine-users.ts';
import { ensureLocalPrograms } from './local-programs.ts';
import { findEngine as findLocalEngine, type LocalServersDeps, startMongo } from './local-servers.ts';
import { describeNatsServer, findNatsServer } from './nats-server.ts';
import { createProcesses } from './processes.ts';
import type { Doing, Progress } from './progress.ts';
import { ensurePythonPackages } from './python-packages.ts';
import { toolsCacheFolder } from './tools-cache.ts';

interface TestServersOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Holds the servers' files; the caller removes it. */
  readonly folder: string;
  readonly progress: Progress;
}

export interface TestServers {
  /** Returns the environment for the tests. Throws SetupError. */
  start(): Promise<NodeJS.ProcessEnv>;
  stop(): Promise<void>;
}

export function createTestServers({ env, folder, progress }: TestServersOptions): TestServers {
  const cacheFolder = toolsCacheFolder(env);
  const packages = createDebianPackages(env);
  const engineUsers = createEngineUsers(cacheFolder, { servesOthers });
  const processes = createProcesses(folder, progress);
  const servers: LocalServersDeps = { env, dataFolder: folder, cacheFolder, packages, processes, progress };
  let engine: StartedEngine | undefined;

  return {
    async start() {
      const [, mongoUrl] = await Promise.all([
        findNats(),
        startMongo(servers, { containers: true, port: undefined }),
        findEngine(),
        ensureLocalPrograms({ env, packages, progress }),
        installPythonPackages(),
      ]);
      return { ...env, SWITCHYARD_TEST_MONGODB_URL: mongoUrl };
    },
    async stop() {
      await processes.stop();
      await engineUsers.leave(engine);
    },
  };

  /** The tests find it in the same place, without building it again. */
  async function findNats(): Promise<void> {
    const { NATS_URL: _, ...machine } = env;
    const find = { env: machine, cacheFolder, containers: false };
    await progress.step('NATS', (doing) => findNatsServer({ ...find, doing }), describeNatsServer);
  }

  async function findEngine(): Promise<void> {
    const found = await findLocalEngine(servers, engineUsers, 'tests that need it are skipped');
    if ('reason' in found) return;
    engine = found.started;
    await findCompose();
    await buildImage();
  }

  async function findCompose(): Promise<void> {
    const find = (doing: Doing) => findDockerCompose({ env, packages, doing });
    await progress.step('Docker Compose', find, describeDockerCompose).catch((error: Error) => {
      progress.note('Docker Compose', `its test is skipped. ${error.message}`);
    });
  }

  /** Tests of the Python client fail without them, and say why. */
  async function installPythonPackages(): Promise<void> {
    const install = () => ensurePythonPackages({ env, packages });
    await progress
      .step('Python packages', install, (python) => `at ${python}`)
      .catch((error: Error) => {
        progress.note('Python packages', error.message);
      });
  }

  async function buildImage(): Promise<void> {
    const build = (doing: Doing) => ensureImage({ docker: new Docker(), env, onProgress: doing });
    const summary = ({ built }: { built: boolean }) => `${IMAGE} ${built ? 'built' : 'already built'}`;
    await progress.step('computer image', build, summary).catch((error: Error) => {
      progress.note('computer image', `tests that need it will fail. ${error.message}`);
    });
  }
}
