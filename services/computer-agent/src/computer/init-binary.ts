// Compiles the init of computers (services/computer-agent/init, C) into one static file, again when its source changes.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '@switchyard/contracts';
import type Docker from 'dockerode';

export const INIT_SOURCE_DIRECTORY = fileURLToPath(new URL('../../init/', import.meta.url));
const COMPILER_ARGUMENTS = ['-static', '-Os', '-s', '-std=gnu17', '-Wall', '-Wextra'];
/** Source folder in the builder container. */
const COMPILER_DIRECTORY = '/source';
const COMPILE_TIMEOUT_MS = 120_000;
const HASH_LENGTH = 16;

interface InitBinaryOptions {
  /** Where compiled inits are kept; absolute, and reachable for the Docker engine. */
  readonly directory: string;
  readonly docker: Docker;
  /** Image with the C compiler. */
  readonly builderImage: string;
}

/**
 * The path of the compiled init, which has the hash of its source in its name.
 * @throws ServiceError `computer_failed` when the builder image cannot compile it
 */
export async function ensureInitBinary(options: InitBinaryOptions): Promise<string> {
  const sources = await readSources();
  const hash = createHash('sha256').update(COMPILER_ARGUMENTS.join(' '));
  for (const file of sources) hash.update(`\0${file.name}\0${file.text}`);
  const binary = join(options.directory, `init-${hash.digest('hex').slice(0, HASH_LENGTH)}`);
  if (existsSync(binary)) return binary;

  const unfinished = `${binary}.${process.pid}`;
  const files = sources.map(({ name }) => name).filter((name) => name.endsWith('.c'));
  try {
    await mkdir(options.directory, { recursive: true });
    await compile(files, unfinished, options);
    await chmod(unfinished, 0o755);
    await rename(unfinished, binary); // atomic, also when another process compiles the same source
  } catch (cause) {
    throw new ServiceError('computer_failed', 'the init of computers could not be compiled', { cause });
  } finally {
    await rm(unfinished, { force: true });
  }
  return binary;
}

async function compile(
  files: string[],
  output: string,
  { docker, builderImage, directory }: InitBinaryOptions,
): Promise<void> {
  const container = await docker.createContainer({
    Image: builderImage,
    Cmd: ['gcc', ...COMPILER_ARGUMENTS, '-o', output, ...files],
    WorkingDir: COMPILER_DIRECTORY,
    NetworkDisabled: true,
    HostConfig: { Mounts: [{ Type: 'bind', Source: directory, Target: directory }] },
  });
  try {
    // Sent, not mounted: where the agent itself runs in a container, the engine does not see its sources.
    const sources = spawn('tar', ['-C', INIT_SOURCE_DIRECTORY, '-c', '.'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await container.putArchive(sources.stdout, { path: COMPILER_DIRECTORY });
    await container.start();
    const { StatusCode: code } = await container.wait({
      abortSignal: AbortSignal.timeout(COMPILE_TIMEOUT_MS),
    });
    if (code !== 0) {
      const log = await container.logs({ stdout: true, stderr: true });
      throw new Error(`gcc in ${builderImage} exited with ${code}: ${log.toString()}`);
    }
  } finally {
    await container.remove({ force: true, v: true });
  }
}

async function readSources(): Promise<{ name: string; text: string }[]> {
  const names = (await readdir(INIT_SOURCE_DIRECTORY)).filter((name) => /\.[ch]$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(INIT_SOURCE_DIRECTORY, name), 'utf8') })),
  );
}
