/**
 * Builds the stand-in database (infra/mongo) with Maven, once per machine and version of its sources, and returns its
 * command line.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DebianPackages } from './debian-packages.ts';
import type { Doing } from './progress.ts';
import { findProgram, runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import { makeOnce } from './tools-cache.ts';

export interface StandIn {
  /** Holds the jar files. */
  readonly folder: string;
  /** Classes as the JVM keeps them in memory: a start takes a third of the time. */
  readonly archive?: string;
  readonly origin: string;
}

interface EnsureStandInOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheFolder: string;
  readonly packages: DebianPackages;
  readonly doing: Doing;
}

const SOURCES = join(import.meta.dirname, '..', '..', 'mongo');
const JAVA_FILES = join('src', 'main', 'java', 'switchyard');
const BUILD_TIMEOUT_MS = 10 * 60_000;
const ARCHIVE_TIMEOUT_MS = 60_000;
const HEAP_MB = 256;
const JVM = [
  ...[`-Xmx${HEAP_MB}m`, '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'],
  // Netty's check of each buffer access takes a tenth of the time of an insert.
  '-Dio.netty.buffer.checkAccessible=false',
];
const FIX = 'Install Java 17 or newer and Maven, or install mongod, or set MONGODB_URL.';

export async function isStandInBuilt(cacheFolder: string): Promise<boolean> {
  return existsSync(await builtFolder(cacheFolder));
}

/** @throws SetupError if it is not built and cannot be built */
export async function ensureStandIn(options: EnsureStandInOptions): Promise<StandIn> {
  const { env, cacheFolder, packages, doing } = options;
  const folder = await builtFolder(cacheFolder);
  const isBuilt = existsSync(folder);
  const needed = isBuilt ? ['java'] : ['java', 'javac', 'mvn'];
  if (needed.some((program) => findProgram(program, env.PATH) === undefined))
    await installJava(packages, doing);
  if (isBuilt) return { folder, ...(await archiveOf(folder, env)), origin: `built before, in ${folder}` };
  doing('building the stand-in for MongoDB with Maven; takes about half a minute, once per machine', {
    announce: true,
  });
  await makeOnce(folder, (unfinished) => build(unfinished, env));
  return { folder, ...(await archiveOf(folder, env)), origin: `built with Maven, in ${folder}` };
}

/** The command line, for one file and one port on `host`, by default 127.0.0.1. */
export function standInCommand(
  standIn: Pick<StandIn, 'folder' | 'archive'>,
  file: string,
  port: number,
  host?: string,
): { command: string; args: readonly string[] } {
  const { folder, archive } = standIn;
  const shared = archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`];
  const args = [...JVM, ...shared, '-cp', join(folder, '*'), 'switchyard.StandIn', file, String(port)];
  if (host !== undefined) args.push(host);
  return { command: 'java', args };
}

/**
 * Makes the archive of classes by one start of the program, once per machine. This happens after the build, since the
 * JVM uses an archive only with the folder it was made for. Without one, the program starts more slowly.
 */
async function archiveOf(folder: string, env: NodeJS.ProcessEnv): Promise<Pick<StandIn, 'archive'>> {
  const archive = `${folder}.jsa`;
  if (existsSync(archive)) return { archive };
  const unfinished = `${archive}.${process.pid}-${randomBytes(4).toString('hex')}`;
  const { command, args } = standInCommand({ folder }, `${unfinished}.h2`, 0);
  const run = spawn(command, [`-XX:ArchiveClassesAtExit=${unfinished}`, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: ARCHIVE_TIMEOUT_MS,
  });
  const ended = new Promise<void>((resolve) =>
    run.once('close', () => resolve()).once('error', () => resolve()),
  );
  run.stdout.once('data', () => run.kill('SIGTERM')); // it is ready; the archive is written when it exits
  await ended;
  await rm(`${unfinished}.h2`, { force: true });
  return rename(unfinished, archive).then(
    () => ({ archive }),
    () => ({}),
  );
}

async function builtFolder(cacheFolder: string): Promise<string> {
  const hash = createHash('sha256');
  const java = (await readdir(join(SOURCES, JAVA_FILES))).sort();
  for (const file of ['pom.xml', ...java.map((name) => join(JAVA_FILES, name))])
    hash.update(file).update(await readFile(join(SOURCES, file)));
  return join(cacheFolder, `mongo-stand-in-${hash.digest('hex').slice(0, 12)}`);
}

async function build(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  // Builds in a copy, so that the sources stay clean and two builds do not collide.
  const copy = join(folder, 'build');
  await cp(SOURCES, copy, { recursive: true });
  try {
    const args = ['--batch-mode', '--quiet', '-Dstyle.color=never', '-Dmaven.test.skip=true', 'package'];
    await runCommand('mvn', args, { cwd: copy, timeoutMs: BUILD_TIMEOUT_MS, env });
  } catch (cause) {
    throw new SetupError(
      `The stand-in for MongoDB could not be built. ${(cause as Error).message}`,
      'Check that Maven reaches Maven Central, or install mongod, or set MONGODB_URL.',
      { cause },
    );
  }
  const jars = join(copy, 'target', 'lib');
  await cp(jars, folder, { recursive: true });
  await rm(copy, { recursive: true });
}

async function installJava(packages: DebianPackages, doing: Doing): Promise<void> {
  if (!packages.possible) {
    throw new SetupError(
      'MongoDB not found: no server, no container image, and no Java and Maven for the stand-in.',
      FIX,
    );
  }
  doing('installing Java and Maven with apt-get for the MongoDB stand-in; takes about a minute', {
    announce: true,
  });
  try {
    await packages.install(['default-jdk-headless', 'maven']);
  } catch (cause) {
    throw new SetupError(`Java and Maven could not be installed. ${(cause as Error).message}`, FIX, {
      cause,
    });
  }
}
