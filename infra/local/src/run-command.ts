/** Runs other programs: finds them on the PATH, waits for their end, and keeps the end of their output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

interface CommandResult {
  readonly code: number;
  /** The last OUTPUT_CHARS_MAX characters of stdout and of stderr. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** An error shows the whole output (up to OUTPUT_CHARS_MAX of each stream), not only its last lines. */
  readonly wholeOutput?: boolean;
}

export class CommandError extends Error {
  constructor(command: string, reason: string, output: string, options?: ErrorOptions) {
    super(
      `\`${command}\` ${reason}${output === '' ? '' : `:\n${lastLines(output, ERROR_LINES_MAX)}`}`,
      options,
    );
    this.name = 'CommandError';
  }
}

const OUTPUT_CHARS_MAX = 64 * 1024;
const ERROR_LINES_MAX = 15;

/** Runs a command to its end. @throws CommandError if it cannot run, fails, or exceeds its time */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const words = [command, ...args].join(' ');
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: options.env ?? process.env,
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
  });
  const stdout = keepLast(child.stdout);
  const stderr = keepLast(child.stderr);
  const code = await ended(child).catch((cause: Error) => {
    throw new CommandError(words, `could not start (${cause.message})`, '', { cause });
  });
  if (code !== 0) {
    const reason =
      code === null ? `did not finish within ${options.timeoutMs / 1000} s` : `failed with code ${code}`;
    const output = options.wholeOutput
      ? `${stdout()}${stderr()}`
      : lastLines(stderr() || stdout(), ERROR_LINES_MAX);
    throw new CommandError(words, reason, output);
  }
  return { code, stdout: stdout(), stderr: stderr() };
}

/** The full path of a program, or undefined if it is not on the PATH. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  const candidates = isAbsolute(name)
    ? [name]
    : (path ?? '').split(delimiter).map((folder) => join(folder, name));
  return candidates.find(isExecutableFile);
}

/** The last `count` lines of a text that are not blank. */
export function lastLines(text: string, count: number): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-count)
    .join('\n');
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

function keepLast(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-OUTPUT_CHARS_MAX);
  });
  return () => text;
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
