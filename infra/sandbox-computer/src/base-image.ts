// The base of the standard image: debian:12 from a registry, or the same system built by debootstrap.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type Docker from 'dockerode';
import { type AptSetup, RELEASE } from './apt-setup.ts';
import { isImagePresent, pullImage } from './pull-image.ts';

const OFFICIAL = 'debian:12';
/** Not named `debian:12`, so that it is not taken for the official image. */
const OWN_REPOSITORY = 'switchyard/debian';
const OWN_TAG = '12';
const ERROR_LINES_KEPT = 5;

interface BaseOptions {
  readonly docker: Docker;
  readonly apt: AptSetup;
  /** An existing directory on a file system that allows devices. */
  readonly workDirectory: string;
  readonly signal: AbortSignal;
}

/**
 * Returns the name of a local image.
 * @throws Error that says what to install, if no registry answers and debootstrap cannot run
 */
export async function ensureBase(options: BaseOptions): Promise<string> {
  const { docker, signal } = options;
  if (await isImagePresent(docker, OFFICIAL)) return OFFICIAL;
  const own = `${OWN_REPOSITORY}:${OWN_TAG}`;
  if (await isImagePresent(docker, own)) return own;
  const pulled = await pullImage(docker, OFFICIAL, signal).catch((error: Error) => error);
  if (!(pulled instanceof Error)) return OFFICIAL;
  signal.throwIfAborted();
  try {
    await makeBase(options);
    return own;
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(
      `${OFFICIAL} could not be pulled (${pulled.message}) or built (${(error as Error).message}); ` +
        'let the Docker engine reach a registry, or install debootstrap and run as root',
      { cause: error },
    );
  }
}

async function makeBase({ docker, apt, workDirectory, signal }: BaseOptions): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('debootstrap needs root');
  const root = join(workDirectory, 'base');
  await debootstrap(root, apt, signal);

  // Streamed into the engine, which keeps it as one layer.
  const tar = spawn(
    'tar',
    ['-C', root, '--numeric-owner', '--exclude=./var/cache/apt/archives/*.deb', '-c', '.'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      signal,
    },
  );
  const failed = once(tar, 'error').then(([error]) => Promise.reject(error as Error));
  const imported = docker.importImage(tar.stdout, {
    repo: OWN_REPOSITORY,
    tag: OWN_TAG,
    changes: 'CMD ["bash"]',
    abortSignal: signal,
  });
  const answer = await Promise.race([imported, failed]);
  for await (const line of createInterface({ input: answer })) {
    const { error } = JSON.parse(line) as { error?: string };
    if (error) throw new Error(`docker import: ${error}`);
  }
}

async function debootstrap(root: string, { mirror, proxy }: AptSetup, signal: AbortSignal): Promise<void> {
  const PATH = `${process.env.PATH}:/usr/sbin`;
  const child = spawn('debootstrap', ['--variant=minbase', RELEASE, root, ...(mirror ? [mirror] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH, ...(proxy ? { http_proxy: proxy } : {}) },
    signal,
  });
  const lastLines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > ERROR_LINES_KEPT) lastLines.shift();
    });
  }
  // Also wait for its end after an abort: until then it mounts and writes below `root`.
  const closed = Promise.withResolvers<number | null>();
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  child.on('close', closed.resolve);
  const code = await closed.promise;
  signal.throwIfAborted();
  if (failure) throw failure;
  if (code !== 0) throw new Error(`debootstrap exited with ${code}: ${lastLines.join(' | ')}`);
}
