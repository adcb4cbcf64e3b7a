// Bind mounts by a program that lives as long as the agent (../../mounter, C): a mount takes a tenth of a millisecond,
// where starting the program `mount` for it takes 5 to 8.
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { getSystemErrorMessage } from 'node:util';
import type { HostLogger } from '../computer/logger.ts';
import { type CompiledProgramOptions, ensureCompiled, startResident } from './compiled-program.ts';
import { bindByCommand } from './mounts.ts';

const SOURCE_DIRECTORY = fileURLToPath(new URL('../../mounter/', import.meta.url));
const ANSWER_TIMEOUT_MS = 10_000;

export type MounterBinaryOptions = Omit<CompiledProgramOptions, 'name' | 'source'>;

/** The path of the compiled program. @throws when it cannot be compiled */
export function ensureMounterBinary(options: MounterBinaryOptions): Promise<string> {
  return ensureCompiled({ name: 'mounter', source: SOURCE_DIRECTORY, ...options });
}

export interface Mounter {
  /**
   * Makes `source` appear at `point`, both absolute. As long as the program does not run, by the command `mount`.
   * @throws what the kernel, or the command, said
   */
  bind(source: string, point: string): Promise<void>;
  /** Starts the program, where it can be had. Nothing happens where it was started. */
  start(compiled: MounterBinaryOptions): Promise<void>;
  /** Of the program, where it runs. */
  readonly pid: number | undefined;
  /** What was asked for is done first. */
  close(): void;
}

export function createMounter(logger: HostLogger): Mounter {
  let program: MountProgram | undefined;
  return {
    async bind(source, point) {
      try {
        if (program) return await program.bind(source, point);
      } catch (error) {
        if (!(error instanceof ProgramGone)) throw error;
        if (program)
          logger.warn({}, 'the program that mounts has ended: each computer starts a little slower');
        program = undefined;
      }
      // It may have done so already: the same once more on top is taken away with it.
      await bindByCommand(source, point);
    },
    async start(compiled) {
      if (program) return;
      try {
        program = attend(await startResident(await ensureMounterBinary(compiled)));
      } catch (error) {
        logger.warn({ err: error }, 'no program that mounts: each computer starts a little slower');
      }
    },
    get pid() {
      return program?.pid;
    },
    close() {
      program?.close();
      program = undefined;
    },
  };
}

/** What it was asked for may be done or not. */
class ProgramGone extends Error {}

interface MountProgram {
  readonly pid: number | undefined;
  /** @throws ProgramGone */
  bind(source: string, point: string): Promise<void>;
  close(): void;
}

type Waiting = PromiseWithResolvers<void> & { readonly point: string; readonly late: NodeJS.Timeout };

function attend(child: ChildProcessByStdio<Writable, Readable, null>): MountProgram {
  /** In the order in which they were asked for, which is that of the answers. */
  const waiting: Waiting[] = [];
  let gone = false;

  createInterface({ input: child.stdout }).on('line', (errno) => {
    const asked = waiting.shift();
    if (!asked) return;
    clearTimeout(asked.late);
    if (errno === '0') asked.resolve();
    else asked.reject(new Error(`${asked.point}: ${getSystemErrorMessage(-Number(errno))}`));
  });
  child.stdin.on('error', () => {}); // 'close' follows
  child.once('close', () => {
    gone = true;
    for (const { late, reject } of waiting.splice(0)) {
      clearTimeout(late);
      reject(new ProgramGone());
    }
  });

  return {
    pid: child.pid,
    bind(source, point) {
      if (gone) return Promise.reject(new ProgramGone());
      const late = setTimeout(() => child.kill('SIGKILL'), ANSWER_TIMEOUT_MS);
      const asked = { ...Promise.withResolvers<void>(), point, late };
      waiting.push(asked);
      child.stdin.write(`${source}\0${point}\0`);
      return asked.promise;
    },
    close: () => void child.stdin.end(),
  };
}
