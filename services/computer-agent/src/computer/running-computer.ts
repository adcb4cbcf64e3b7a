// A computer that is on: its commands, and the moment when it ends.
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerState } from '../docker/engine.ts';
import type { ComputerExit, RunningComputer } from './computer-host.ts';
import type { ExecOptions, ExecResult } from './exec.ts';
import type { ExecActivity } from './exec-activity.ts';
import type { InitClient } from './init-client.ts';

/** How a computer ended is asked of the engine for so long. */
const INSPECT_TIMEOUT_MS = 5_000;
/** What every terminal of a browser or a program of today understands. */
const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', COLORTERM: 'truecolor' } as const;

export interface RunningComputerParts {
  readonly containerId: string;
  readonly init: InitClient;
  readonly activity: ExecActivity;
  /** Gives it all of the processor that it may have, until the function is called that it returns. */
  readonly liftLimit: () => () => void;
  readonly inspect: () => Promise<ContainerState | undefined>;
  readonly mendFiles: () => Promise<void>;
  /** Ends the processes in order. */
  readonly stop: () => Promise<void>;
  /** Removes the container and its mounts. */
  readonly remove: () => Promise<void>;
  /** True once this agent itself has set out to end the container. */
  readonly ending: () => boolean;
}

export function createRunningComputer(parts: RunningComputerParts): RunningComputer {
  const { init, activity } = parts;
  const exited = Promise.withResolvers<ComputerExit>();
  let released = false;

  void init.closed.then(async () => {
    if (released) return;
    exited.resolve(await exitOf(parts));
  });

  const counted = async (work: Promise<ExecResult>): Promise<ExecResult> => {
    activity.begin();
    try {
      return await work;
    } finally {
      activity.end();
    }
  };

  return {
    containerId: parts.containerId,
    exec: (options) => counted(withTimeToEnd(init.exec(options), options, parts.liftLimit)),
    attach: (execId, options) => counted(init.attach(execId, options)),
    execs: () => init.execs(),
    readFiles: (paths) => init.readFiles(paths),
    openPort: (port, signal) => init.openStream({ kind: 'port', port }, signal),
    openTerminal: (size, signal) =>
      init.openStream({ kind: 'terminal', ...size, env: TERMINAL_ENVIRONMENT }, signal),
    mendFiles: parts.mendFiles,
    exited: exited.promise,
    get isEnding() {
      return init.isClosed && !released;
    },
    async stop() {
      parts.liftLimit();
      await parts.stop();
      await parts.remove();
    },
    release() {
      released = true;
      init.close();
    },
  };
}

/** Once it is to be ended, hundreds of processes may have to find the time to end, of those who compute or of a bomb. */
async function withTimeToEnd(
  work: Promise<ExecResult>,
  { timeoutMs, signal }: Pick<ExecOptions, 'timeoutMs' | 'signal'>,
  liftLimit: () => () => void,
): Promise<ExecResult> {
  let settle: (() => void) | undefined;
  const lift = () => {
    settle ??= liftLimit();
  };
  const timer = setTimeout(lift, timeoutMs).unref();
  signal?.addEventListener('abort', lift, { once: true });
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', lift);
    settle?.();
  }
}

/** An engine that does not answer must not keep it a secret that the computer has ended. */
async function exitOf({ inspect, ending }: RunningComputerParts): Promise<ComputerExit> {
  if (ending()) return { reason: 'stopped', exitCode: null };
  const late = new AbortController();
  const unknown = delay(INSPECT_TIMEOUT_MS, undefined, { signal: late.signal, ref: false });
  const state = await Promise.race([inspect(), unknown]).catch(() => undefined);
  late.abort();
  unknown.catch(() => {});
  const exitCode = state && !state.running ? state.exitCode : null;
  if (ending()) return { reason: 'stopped', exitCode };
  return { reason: state?.oomKilled ? 'out_of_memory' : 'exited', exitCode };
}
