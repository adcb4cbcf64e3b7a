/**
 * The servers of a test run. Each test has a nats-server of its own, and one of its own where it kills a database;
 * all others share one MongoDB, with a database for each test. The computers' image is built if there is an engine.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureImage, IMAGE } from '@switchyard/sandbox-computer';
import Docker from 'dockerode';
import { createDebianPackages } from './debian-packages.ts';
import { describeDockerCompose, findDockerCompose } from './docker-compose.ts';
import { describeDockerEngine, findDockerEngine, type StartedEngine, servesOthers } from './docker-engine.ts';
import { createEngineUsers } from './engine-users.ts';
import { freePort } from './free-port.ts';
import { describeMongoServer, findMongoServer, MONGO_HOST, mongoServerProcess } from './mongo-server.ts';
import { describeNatsServer, findNatsServer } from './nats-server.ts';
import { createPidFiles } from './pid-files.ts';
import { openProcessLog } from './process-log.ts';
import type { Doing, Progress } from './progress.ts';
import { findProgram } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import { type Supervised, supervise } from './supervisor.ts';
import { toolsCacheFolder } from './tools-cache.ts';

/** What the local speech models call, and the Debian packages that bring it (services/model-router/src/local/programs.ts). */
export const LOCAL_MODEL_PROGRAMS = ['espeak-ng', 'ffmpeg', 'pocketsphinx_batch'];
export const LOCAL_MODEL_PACKAGES = ['espeak-ng', 'ffmpeg', 'pocketsphinx', 'pocketsphinx-en-us'];

export interface TestServersOptions {
  readonly env: NodeJS.ProcessEnv;
  /** For what the servers write; removed by the caller. */
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
  let mongo: Supervised | undefined;
  let engine: StartedEngine | undefined;

  return {
    async start() {
      const [, mongoUrl] = await Promise.all([findNats(), startMongo(), findEngine(), findPrograms()]);
      return { ...env, SWITCHYARD_TEST_MONGODB_URL: mongoUrl };
    },
    async stop() {
      await mongo?.stop();
      await engineUsers.leave(engine);
    },
  };

  /** The tests find it again in the same way, and then quickly. */
  async function findNats(): Promise<void> {
    const { NATS_URL: _, ...machine } = env;
    const find = { env: machine, cacheFolder, containers: false };
    await progress.step('NATS', (doing) => findNatsServer({ ...find, doing }), describeNatsServer);
  }

  async function startMongo(): Promise<string> {
    const files = join(folder, 'mongo');
    await mkdir(files, { recursive: true });
    const server = await progress.step(
      'MongoDB',
      (doing) => findMongoServer({ env, cacheFolder, packages, containers: true, folder: files, doing }),
      describeMongoServer,
    );
    if (server.kind === 'address') return server.url;
    const port = await freePort(MONGO_HOST);
    const note = (text: string) => progress.note('MongoDB', text);
    const log = openProcessLog(join(folder, 'logs', 'mongo.log'), note);
    const pidFiles = createPidFiles(join(folder, 'run'));
    const spec = await mongoServerProcess({ name: 'mongo', server, port, folder: files, env });
    mongo = supervise(spec, { log, pidFiles, note });
    await mongo.ready;
    return `mongodb://${MONGO_HOST}:${port}`;
  }

  async function findPrograms(): Promise<void> {
    const missing = LOCAL_MODEL_PROGRAMS.filter((program) => findProgram(program, env.PATH) === undefined);
    if (missing.length === 0) return;
    if (!packages.possible)
      return progress.note('local models', `the tests of speech are skipped: ${missing.join(', ')} missing`);
    await progress.step(
      'local models',
      (doing) => {
        doing(`installing ${LOCAL_MODEL_PACKAGES.join(', ')}`);
        return packages.install(LOCAL_MODEL_PACKAGES);
      },
      () => `${LOCAL_MODEL_PACKAGES.join(', ')} installed`,
    );
  }

  async function findEngine(): Promise<void> {
    await engineUsers.join();
    try {
      const found = await progress.step(
        'Docker',
        (doing) => findDockerEngine({ env, cacheFolder, packages, doing }),
        describeDockerEngine,
      );
      engine = found.started;
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      progress.note('Docker', `the tests that need it are skipped. ${error.message}\nMend: ${error.mend}`);
      return;
    }
    await findCompose();
    await buildImage();
  }

  async function findCompose(): Promise<void> {
    try {
      await progress.step(
        'Docker Compose',
        (doing) => findDockerCompose({ env, packages, doing }),
        describeDockerCompose,
      );
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      progress.note('Docker Compose', `its test is skipped. ${error.message}\nMend: ${error.mend}`);
    }
  }

  async function buildImage(): Promise<void> {
    const build = (doing: Doing) => ensureImage({ docker: new Docker(), env, onProgress: doing });
    const summary = ({ built }: { built: boolean }) => `${IMAGE} ${built ? 'built' : 'is there'}`;
    await progress.step('computer image', build, summary).catch((error: Error) => {
      progress.note('computer image', `the tests that need it will fail. ${error.message}`);
    });
  }
}
