// Programs in C that the agent brings along: each is compiled once, into one static file, and again only when its source
// has changed.
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import type Docker from 'dockerode';

const COMPILER_ARGUMENTS = ['-static', '-Os', '-s', '-std=gnu17', '-Wall', '-Wextra'];
/** In the container that compiles where this host cannot. */
const COMPILER_DIRECTORY = '/source';
const COMPILE_TIMEOUT_MS = 120_000;
const HASH_LENGTH = 16;

const run = promisify(execFile);

export interface CompiledProgramOptions {
  readonly name: string;
  /** Folder of its source. */
  readonly source: string;
  /** Where compiled programs are kept; absolute, and reachable for the Docker engine. */
  readonly directory: string;
  readonly docker: Docker;
  /** Compiles it where the host has no C compiler. */
  readonly builderImage: string;
}

/**
 * The path of the compiled program, which has the hash of its source in its name.
 * @throws when neither the host nor the builder image can compile it.
 */
export async function ensureCompiled(options: CompiledProgramOptions): Promise<string> {
  const { binary, sources, isThere } = await lookUp(options);
  if (isThere) return binary;

  await mkdir(options.directory, { recursive: true });
  const unfinished = `${binary}.${process.pid}`;
  const files = sources.map(({ name }) => name).filter((name) => name.endsWith('.c'));
  try {
    await compile(files, unfinished, options);
    await chmod(unfinished, 0o755);
    await rename(unfinished, binary); // whole or not at all, whoever else compiles it now
  } finally {
    await rm(unfinished, { force: true });
  }
  return binary;
}

/** The path of a program that was compiled before; undefined: it was not, or its source has changed since. */
export async function findCompiled(
  options: Pick<CompiledProgramOptions, 'name' | 'source' | 'directory'>,
): Promise<string | undefined> {
  const { binary, isThere } = await lookUp(options);
  return isThere ? binary : undefined;
}

async function lookUp({
  name,
  source,
  directory,
}: Pick<CompiledProgramOptions, 'name' | 'source' | 'directory'>) {
  const sources = await readSources(source);
  const hash = createHash('sha256').update(COMPILER_ARGUMENTS.join(' '));
  for (const file of sources) hash.update(`\0${file.name}\0${file.text}`);
  const binary = join(directory, `${name}-${hash.digest('hex').slice(0, HASH_LENGTH)}`);
  return { binary, sources, isThere: await isFile(binary) };
}

/**
 * Starts one that is asked over its stdin, answers on its stdout, and ends with its stdin, and so with this process, which
 * it does not keep from ending. @throws when it cannot be started
 */
export async function startResident(path: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const child = spawn(path, { stdio: ['pipe', 'pipe', 'ignore'] });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  for (const handle of [child, child.stdin, child.stdout] as { unref(): void }[]) handle.unref();
  return child;
}

async function compile(files: string[], output: string, options: CompiledProgramOptions): Promise<void> {
  try {
    await run('gcc', [...COMPILER_ARGUMENTS, '-o', output, ...files], {
      cwd: options.source,
      timeout: COMPILE_TIMEOUT_MS,
    });
  } catch (hostFailure) {
    try {
      await compileInContainer(files, output, options);
    } catch (containerFailure) {
      const failures = [hostFailure, containerFailure];
      throw new AggregateError(failures, `${options.name}: compiled neither by gcc here nor in a container`);
    }
  }
}

async function compileInContainer(
  files: string[],
  output: string,
  { source, docker, builderImage, directory }: CompiledProgramOptions,
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
    const sources = spawn('tar', ['-C', source, '-c', '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
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

async function readSources(folder: string): Promise<{ name: string; text: string }[]> {
  const names = (await readdir(folder)).filter((name) => /\.[ch]$/.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8') })));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
