// Programs of this host, run by a program that lives as long as the agent (../../runner, C): Node forks itself for each, and
// stands still for 10 to 30 ms meanwhile.
import { type ChildProcessByStdio, execFile } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { HostLogger } from '../computer/logger.ts';
import {
  type CompiledProgramOptions,
  ensureCompiled,
  findCompiled,
  startResident,
} from './compiled-program.ts';

const SOURCE_DIRECTORY = fileURLToPath(new URL('../../runner/', import.meta.url));
/** What a program may take where nobody says. */
const TIMEOUT_MS_DEFAULT = 3_600_000;
/** Beyond its time, until the runner itself is taken for stuck. */
const ANSWER_LATE_MS = 10_000;
const LINE_FEED = 0x0a;
const SIGNAL_CODES_FROM = 128;

const runByFork = promisify(execFile);

export type RunnerBinaryOptions = Omit<CompiledProgramOptions, 'name' | 'source'>;

export interface RunOptions {
  /** Milliseconds; then it is ended, with all that it has started. */
  readonly timeout?: number;
}

const PROGRAM = { name: 'runner', source: SOURCE_DIRECTORY } as const;

/** The path of the compiled program. @throws when it cannot be compiled */
export function ensureRunnerBinary(options: RunnerBinaryOptions): Promise<string> {
  return ensureCompiled({ ...PROGRAM, ...options });
}

/** Of this process: how it starts programs is no matter of one host that it keeps. */
let runner: Runner | undefined;

/**
 * From now on programs are run by the runner, where it can be had. Nothing happens where it runs already; one that has
 * ended is started anew.
 */
export function startRunner(compiled: RunnerBinaryOptions, logger: HostLogger): Promise<void> {
  return startFound(() => ensureRunnerBinary(compiled), logger);
}

/** The same where it need not be compiled first. */
export function startCompiledRunner(
  { directory }: Pick<RunnerBinaryOptions, 'directory'>,
  logger: HostLogger,
): Promise<void> {
  return startFound(() => findCompiled({ ...PROGRAM, directory }), logger);
}

async function startFound(find: () => Promise<string | undefined>, logger: HostLogger): Promise<void> {
  if (runner?.isThere) return;
  try {
    const path = await find();
    if (path !== undefined) runner = attend(await startResident(path));
  } catch (error) {
    logger.warn({ err: error }, 'no program that runs programs: the agent stands still while one is started');
  }
}

/** Of the runner, where there is one. */
export function runnerPid(): number | undefined {
  return runner?.isThere ? runner.pid : undefined;
}

/**
 * Runs a program of this host, found on the PATH, and waits for its end. Without a runner by a fork of this process.
 * @throws with what it said, when it ends with another code than 0, by a signal, or with its runner; in the last case it
 * may still be at work.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { timeout = TIMEOUT_MS_DEFAULT }: RunOptions = {},
): Promise<void> {
  if (!runner?.isThere) {
    await runByFork(program, [...args], { timeout });
    return;
  }
  const { code, said } = await runner.run([program, ...args], timeout);
  if (code === 0) return;
  const how =
    code > SIGNAL_CODES_FROM ? `was ended by signal ${code - SIGNAL_CODES_FROM}` : `ended with ${code}`;
  throw new Error(`${[program, ...args].join(' ')} ${how}: ${said.trim()}`);
}

interface Ended {
  readonly code: number;
  readonly said: string;
}

interface Runner {
  readonly pid: number | undefined;
  readonly isThere: boolean;
  run(command: readonly string[], timeoutMs: number): Promise<Ended>;
}

type Waiting = PromiseWithResolvers<Ended> & { readonly late: NodeJS.Timeout };

function attend(child: ChildProcessByStdio<Writable, Readable, null>): Runner {
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let isThere = true;
  let read: Buffer = Buffer.alloc(0);
  /** A program that is waited for keeps the process going, as one that it had started itself would. */
  const keepGoing = () => {
    const output = child.stdout as Socket;
    if (waiting.size > 0) output.ref();
    else output.unref();
  };
  const settle = (number: number): Waiting | undefined => {
    const one = waiting.get(number);
    waiting.delete(number);
    clearTimeout(one?.late);
    keepGoing();
    return one;
  };

  child.stdout.on('data', (more: Buffer) => {
    read = read.length === 0 ? more : Buffer.concat([read, more]);
    for (;;) {
      const end = read.indexOf(LINE_FEED);
      if (end === -1) return;
      const [number = 0, code = 0, length = 0] = read.toString('latin1', 0, end).split(' ').map(Number);
      const next = end + 1 + length;
      if (read.length < next) return;
      settle(number)?.resolve({ code, said: read.toString('utf8', end + 1, next) });
      read = read.subarray(next);
    }
  });
  child.stdin.on('error', () => {}); // 'exit' follows
  // 'close' would wait for those that still attend a program.
  child.once('exit', () => {
    isThere = false;
    for (const number of [...waiting.keys()])
      settle(number)?.reject(new Error('the program that runs programs has ended'));
  });

  return {
    pid: child.pid,
    get isThere() {
      return isThere;
    },
    run(command, timeoutMs) {
      const number = ++asked;
      const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs + ANSWER_LATE_MS);
      const one = { ...Promise.withResolvers<Ended>(), late };
      waiting.set(number, one);
      keepGoing();
      child.stdin.write(`${[number, timeoutMs, command.length, ...command].join('\0')}\0`);
      return one.promise;
    },
  };
}
