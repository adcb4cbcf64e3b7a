/** A server for one test: a real process on a free port with its own files, which can be killed and restarted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessSpec } from '@switchyard/local';
import { killedWithParent } from './killed-with-parent.ts';

export interface TestServer {
  readonly port: number;
  readonly url: string;
  /** SIGKILL. Resolves when the process is gone; its files and its port stay. */
  kill9(): Promise<void>;
  /** Resolves when it has ended by itself. */
  ended(): Promise<void>;
  /** Starts it again on the same port and files (kills it first if it runs). Resolves when it serves. */
  restart(): Promise<void>;
  /** Stops it and removes its files. May be called again. */
  stop(): Promise<void>;
  /** Of the process that runs now. */
  readonly pid: number;
}

const READY_TIMEOUT_MS = 120_000;
const OUTPUT_CHARS_MAX = 16_384;

/** A folder for one test server, below the machine's folder for such things. */
export function temporaryFolder(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `switchyard-${name}-`));
}

/** Runs `spec` and resolves when it serves. `folder` is removed at the end. */
export async function startTestServer(
  spec: ProcessSpec,
  address: { readonly port: number; readonly url: string; readonly folder: string },
): Promise<TestServer> {
  let child: ChildProcess | undefined;
  // A test run that ends in the middle leaves no server behind.
  const killAtExit = () => child?.kill('SIGKILL');
  process.once('exit', killAtExit);

  async function start(): Promise<void> {
    const [command, ...args] = killedWithParent('SIGKILL', spec.command, spec.args);
    const life = spawn(command, args, {
      cwd: spec.cwd,
      env: spec.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = life;
    let output = '';
    for (const stream of [life.stdout, life.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-OUTPUT_CHARS_MAX);
      });
    }
    const over = new AbortController();
    const died = once(life, 'exit').then(() => {
      throw new Error(`${spec.name} exited while starting:\n${output}`);
    });
    try {
      await Promise.race([untilReady(spec, over.signal), died]);
    } finally {
      over.abort();
      // From here on the test handles the death of the server.
      died.catch(() => {});
    }
  }

  async function ended(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await once(child, 'exit');
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const gone = ended();
    child?.kill(signal);
    await gone;
  }

  try {
    await start();
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
  return {
    port: address.port,
    url: address.url,
    get pid() {
      return child!.pid!;
    },
    kill9: () => end('SIGKILL'),
    ended,
    async restart() {
      await end('SIGKILL');
      await start();
    },
    async stop() {
      process.off('exit', killAtExit);
      // Its files are removed too, so a graceful stop is not needed.
      await end('SIGKILL');
      await rm(address.folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(spec: ProcessSpec, over: AbortSignal): Promise<void> {
  if (spec.ready === 'message') throw new Error(`${spec.name} is no server with an address`);
  await spec.ready(AbortSignal.any([over, AbortSignal.timeout(READY_TIMEOUT_MS)]));
}
