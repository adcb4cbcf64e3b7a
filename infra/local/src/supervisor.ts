/**
 * Keeps one process running: started again when it dies, whatever it died of, until it is stopped. The first time
 * at once; if it keeps dying, after a pause that grows to less than a second.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { PidFiles } from './pid-files.ts';
import { goBeforeOthers } from './precedence.ts';
import type { ProcessLog } from './process-log.ts';
import { SetupError } from './setup-error.ts';
import { createStandby } from './standby.ts';

export interface ProcessSpec {
  /** Names the process at the terminal, its log and its pid file. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  /**
   * When the process serves: `message` when it says so itself, by `process.send({ type: 'ready' })`; else when
   * the check resolves. The check tries until it succeeds or its signal is aborted.
   */
  readonly ready: 'message' | ((signal: AbortSignal) => Promise<void>);
  /** It goes before what computes on this machine (precedence.ts). */
  readonly goesFirst?: boolean | undefined;
  /** While it serves, a second process stands by for its death (standby.ts). Only with `message`. */
  readonly hasStandby?: boolean | undefined;
  /** How long it may take to stop after SIGTERM; then it is killed. */
  readonly stopTimeoutMs: number;
  /** Done before each start, for example to remove what a killed start left behind. */
  readonly beforeStart?: () => Promise<void>;
}

export interface SupervisorDeps {
  readonly log: ProcessLog;
  readonly pidFiles: PidFiles;
  readonly note: (text: string) => void;
}

export interface Supervised {
  readonly name: string;
  /** Undefined between a death and the next start. */
  pid(): number | undefined;
  /** Resolves when the process first serves; rejects with SetupError when it keeps dying before that. */
  readonly ready: Promise<void>;
  /** SIGTERM, a bounded wait, SIGKILL. Resolves when the process is gone. It is not started again. */
  stop(): Promise<void>;
  /** Cuts the wait of a `stop` under way short. */
  kill(): void;
}

/** A process that lived this long is healthy: its death is the first one again. */
const HEALTHY_AFTER_MS = 10_000;
const PAUSE_MS_FIRST = 100;
const PAUSE_MS_MAX = 800;
/** Deaths before the first readiness until the start is given up. */
const START_FAILURES_MAX = 6;
/** Deaths in a row that are told at the terminal; after these only one in so many. */
const TOLD_DEATHS_MAX = 5;
const TOLD_DEATHS_EVERY = 50;
/** EX_CONFIG of sysexits.h: the process says that its settings are wrong, and starting it again will not help. */
const EXIT_CONFIG = 'exit code 78';

export function supervise(spec: ProcessSpec, deps: SupervisorDeps): Supervised {
  const { promise: ready, resolve: becameReady, reject: neverReady } = Promise.withResolvers<void>();
  // Whoever asks gets the rejection; nobody asking is no fault.
  ready.catch(() => {});
  const stopping = new AbortController();
  const killing = new AbortController();
  const standby = createStandby((variables) => begin(variables), deps.note);
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
      if (isWorthTelling(deaths)) deps.note(`died (${end})${inARow(deaths)}; starting it again`);
      await pause(deaths, stopping.signal);
    }
  }

  /** One life of the process. Returns what it died of. */
  async function runOnce(): Promise<string> {
    try {
      await spec.beforeStart?.();
    } catch (error) {
      return (error as Error).message;
    }
    if (stopping.signal.aborted) return 'stopped';
    const life = standby.take() ?? begin();
    const over = new AbortController();
    const ended = untilEnd(life);
    if (life.pid === undefined) return ended;
    child = life;
    if (spec.goesFirst) goBeforeOthers(life.pid);
    const written = deps.pidFiles.write(spec.name, life.pid);
    watchReady(life, over.signal, written);
    await written;
    const end = await ended;
    child = undefined;
    over.abort();
    await deps.pidFiles.remove(spec.name);
    return end;
  }

  function begin(variables: NodeJS.ProcessEnv = {}): ChildProcess {
    const begun = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env, ...variables },
      stdio: spec.ready === 'message' ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
      // A process group of its own: Ctrl-C at the terminal reaches the launcher alone, which stops all in order.
      detached: true,
    });
    if (begun.stdout) deps.log.attach(begun.stdout);
    if (begun.stderr) deps.log.attach(begun.stderr);
    return begun;
  }

  /** @param written its pid file: whoever hears that it serves may look there for whom to signal */
  function watchReady(life: ChildProcess, over: AbortSignal, written: Promise<void>): void {
    const serves = async () => {
      await written;
      if (over.aborted) return;
      if (wasReady) deps.note(`serves again (process ${life.pid})`);
      wasReady = true;
      becameReady();
      if (spec.hasStandby) standby.prepare(over);
    };
    const told = () => void serves().catch(() => {}); // where it cannot be written, `runOnce` says so
    if (spec.ready === 'message') life.on('message', (message) => isReadyMessage(message) && told());
    else spec.ready(over).then(told, () => {});
  }

  return {
    name: spec.name,
    ready,
    pid: () => child?.pid,
    kill: () => killing.abort(),
    async stop() {
      stopping.abort();
      neverReady(new Error(`${spec.name} was stopped`));
      await standby.stop();
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
    // Not `close`: a grandchild may hold the pipes open, and a dead service is started again now.
    life.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

async function pause(deaths: number, signal: AbortSignal): Promise<void> {
  if (deaths <= 1) return;
  const ms = Math.min(PAUSE_MS_FIRST * 2 ** (deaths - 2), PAUSE_MS_MAX);
  await delay(ms, undefined, { signal }).catch(() => {});
}

/** A process that cannot live dies more than once a second: a few words about it are enough. */
function isWorthTelling(deaths: number): boolean {
  return deaths <= TOLD_DEATHS_MAX || deaths % TOLD_DEATHS_EVERY === 0;
}

function inARow(deaths: number): string {
  return deaths === 1 ? '' : `, ${deaths} times in a row`;
}

function isReadyMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}

function cannotStart(name: string, end: string, log: ProcessLog): SetupError {
  return new SetupError(
    [`${name} does not start (${end}). Its last words:`, ...log.tail().map((line) => `    ${line}`)].join(
      '\n',
    ),
    `Read ${log.file}, and mend what it complains about.`,
  );
}
