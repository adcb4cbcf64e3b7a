/**
 * Keeps one process running: restarts it after every death until it is stopped. The first restart is immediate;
 * if the process keeps dying, a growing pause of less than a second precedes each restart.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { PidFiles } from './pid-files.ts';
import type { ProcessLog } from './process-log.ts';
import { SetupError } from './setup-error.ts';

export interface ProcessSpec {
  /** The process's name at the terminal, in its log and in its pid file. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  /**
   * When the process is ready: `message` when it reports so by `process.send({ type: 'ready' })`; otherwise when
   * the check resolves. The check retries until it succeeds or its signal is aborted.
   */
  readonly ready: 'message' | ((signal: AbortSignal) => Promise<void>);
  /** Maximum time to stop after SIGTERM; then the process is killed. */
  readonly stopTimeoutMs: number;
  /** Runs before each start, for example to remove leftovers of a killed start. */
  readonly beforeStart?: () => Promise<void>;
}

interface SupervisorDeps {
  readonly log: ProcessLog;
  readonly pidFiles: PidFiles;
  readonly note: (text: string) => void;
}

export interface Supervised {
  readonly name: string;
  /** Resolves when the process is first ready; rejects with SetupError when it keeps dying before that. */
  readonly ready: Promise<void>;
  /** SIGTERM, a bounded wait, SIGKILL. Resolves when the process is gone. It is not restarted. */
  stop(): Promise<void>;
  /** Cuts short the wait of a running `stop`. */
  kill(): void;
}

/** A process that lived this long is healthy: its next death counts as the first. */
const HEALTHY_AFTER_MS = 10_000;
const PAUSE_MS_FIRST = 100;
const PAUSE_MS_MAX = 800;
/** Deaths before the first readiness after which the start is given up. */
const START_FAILURES_MAX = 6;
/** Consecutive deaths that are all reported at the terminal; after these, one in `NOTED_DEATHS_EVERY`. */
const NOTED_DEATHS_MAX = 5;
const NOTED_DEATHS_EVERY = 50;
/** EX_CONFIG of sysexits.h: the settings are wrong, and a restart will not help. */
const EXIT_CONFIG = 'exit code 78';

export function supervise(spec: ProcessSpec, deps: SupervisorDeps): Supervised {
  const { promise: ready, resolve: becameReady, reject: neverReady } = Promise.withResolvers<void>();
  // The rejection reaches the callers that await it; having none is not an error.
  ready.catch(() => {});
  const stopping = new AbortController();
  const killing = new AbortController();
  let child: ChildProcess | undefined;
  let wasReady = false;
  const done = run();

  async function run(): Promise<void> {
    let deaths = 0;
    while (!stopping.signal.aborted) {
      const started = performance.now();
      const end = await runOnce();
      if (stopping.signal.aborted) return;
      deaths = performance.now() - started > HEALTHY_AFTER_MS ? 1 : deaths + 1;
      if (!wasReady && (deaths >= START_FAILURES_MAX || end === EXIT_CONFIG)) {
        neverReady(cannotStart(spec.name, end, deps.log));
        return;
      }
      if (isWorthNoting(deaths)) deps.note(`died (${end})${inARow(deaths)}; starting it again`);
      await pause(deaths, stopping.signal);
    }
  }

  /** Runs the process once. Returns the cause of its death. */
  async function runOnce(): Promise<string> {
    try {
      await spec.beforeStart?.();
    } catch (error) {
      return (error as Error).message;
    }
    if (stopping.signal.aborted) return 'stopped';
    const life = begin();
    const over = new AbortController();
    const ended = untilEnd(life);
    if (life.pid === undefined) return ended;
    child = life;
    const written = deps.pidFiles
      .write(spec.name, life.pid)
      .catch((error: Error) => deps.note(`its pid file could not be written: ${error.message}`));
    watchReady(life, over.signal, written);
    await written;
    const end = await ended;
    child = undefined;
    over.abort();
    await deps.pidFiles.remove(spec.name).catch(() => {}); // the next start replaces it
    return end;
  }

  function begin(): ChildProcess {
    const begun = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      stdio: spec.ready === 'message' ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
      // An own process group: Ctrl-C at the terminal reaches only the launcher, which stops all processes in order.
      detached: true,
    });
    if (begun.stdout) deps.log.attach(begun.stdout);
    if (begun.stderr) deps.log.attach(begun.stderr);
    return begun;
  }

  /** @param written resolves when the pid file is written: readiness is reported only then */
  function watchReady(life: ChildProcess, over: AbortSignal, written: Promise<void>): void {
    const serves = async () => {
      await written;
      if (over.aborted) return;
      if (wasReady) deps.note(`serves again (process ${life.pid})`);
      wasReady = true;
      becameReady();
    };
    const onReady = () => void serves().catch(() => {}); // `runOnce` reports a failure to write it
    if (spec.ready === 'message') life.on('message', (message) => isReadyMessage(message) && onReady());
    else spec.ready(over).then(onReady, () => {});
  }

  return {
    name: spec.name,
    ready,
    kill: () => killing.abort(),
    async stop() {
      stopping.abort();
      neverReady(new Error(`${spec.name} was stopped`));
      await endChild(() => child, spec.stopTimeoutMs, killing.signal);
      await done;
    },
  };
}

/** SIGTERM; SIGKILL after the wait, or at once when `hurry` is aborted. */
async function endChild(
  current: () => ChildProcess | undefined,
  timeoutMs: number,
  hurry: AbortSignal,
): Promise<void> {
  const child = current();
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const kill = () => child.kill('SIGKILL');
  if (hurry.aborted) kill();
  hurry.addEventListener('abort', kill);
  const timer = setTimeout(kill, timeoutMs);
  await gone;
  clearTimeout(timer);
  hurry.removeEventListener('abort', kill);
}

function untilEnd(life: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    life.once('error', (error) => resolve(error.message));
    // Not `close`: a grandchild may hold the pipes open, and a dead service must restart now.
    life.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

async function pause(deaths: number, signal: AbortSignal): Promise<void> {
  if (deaths <= 1) return;
  const ms = Math.min(PAUSE_MS_FIRST * 2 ** (deaths - 2), PAUSE_MS_MAX);
  await delay(ms, undefined, { signal }).catch(() => {});
}

/** A process that cannot live dies more than once a second: report only some of its deaths. */
function isWorthNoting(deaths: number): boolean {
  return deaths <= NOTED_DEATHS_MAX || deaths % NOTED_DEATHS_EVERY === 0;
}

function inARow(deaths: number): string {
  return deaths === 1 ? '' : `, ${deaths} times in a row`;
}

function isReadyMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}

function cannotStart(name: string, end: string, log: ProcessLog): SetupError {
  return new SetupError(
    [`${name} did not start (${end}). Its last output:`, ...log.tail().map((line) => `    ${line}`)].join(
      '\n',
    ),
    `Read ${log.file} and fix the cause.`,
  );
}
