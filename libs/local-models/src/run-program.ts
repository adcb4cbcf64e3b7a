// Runs a system program for a local model: bytes in, bytes out as they come; killed when the caller goes away.
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { LocalRefusal } from './local-refusal.ts';
import { PROGRAMS, type ProgramName } from './programs.ts';

export interface RunningProgram {
  input: Writable;
  output: Readable;
  /** When it has succeeded. @throws ProgramFailed, LocalRefusal 503 when it is not installed, the signal's reason */
  done: Promise<void>;
  /** When it has exited, even if its output is not read yet. */
  exited: Promise<void>;
}

/** The program failed; the message has the end of its stderr. */
export class ProgramFailed extends Error {
  override readonly name = 'ProgramFailed';
}

const LAST_WORDS_LENGTH_MAX = 1_000;

export function runProgram(program: ProgramName, args: string[], signal: AbortSignal): RunningProgram {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  let lastWords = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-LAST_WORDS_LENGTH_MAX);
  });
  // A program that ends before it has read everything says why by its exit code.
  child.stdin.on('error', () => {});
  const done = new Promise<void>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason);
      else reject(error.code === 'ENOENT' ? programMissing(program, error) : error);
    });
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve();
      else reject(new ProgramFailed(`${program} ended with ${code ?? killedBy}: ${lastWords.trim()}`));
    });
  });
  // The reader of the output awaits `done` afterwards; this prevents an unhandled rejection until then.
  done.catch(() => {});
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
  return { input: child.stdin, output: child.stdout, done, exited };
}

function programMissing(program: ProgramName, cause: unknown): LocalRefusal {
  const { debianPackage } = PROGRAMS[program];
  const message = `the program ${program} is not installed; install the Debian package ${debianPackage}`;
  return new LocalRefusal(503, 'program_missing', message, null, { cause });
}
