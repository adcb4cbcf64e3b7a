/**
 * All of Switchyard for one test, as started by `npm start`: the real launcher and its supervisor, with their own data
 * folder and port.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { READY_LINE, ROOT, readAddresses } from '@switchyard/local';
import { killedWithParent } from './killed-with-parent.ts';
import { mongo, type TestDatabase } from './mongo.ts';
import { ownPort } from './own-port.ts';
import { temporaryFolder } from './test-server.ts';

export interface StartStackOptions {
  /** Added to the launcher's environment. Computers are off by default. */
  readonly env?: Readonly<Record<string, string>>;
  /** Only these services. */
  readonly services?: readonly string[];
  /** An existing data folder; it is kept at the end. */
  readonly dataFolder?: string;
  /** A database server of its own, which the test may kill. Else a database of its own on the server of `npm test`. */
  readonly ownMongo?: boolean;
}

export interface TestStack {
  readonly url: string;
  readonly key: string;
  readonly dataFolder: string;
  readonly natsUrl: string;
  /** Names the database. */
  readonly mongoUrl: string;
  /** Process id of a service, of `nats` or of its own `mongo`. Throws while it is not running. */
  pidOf(name: string): Promise<number>;
  /** Kills a service, `nats` or `mongo` with SIGKILL. `back` resolves when the supervisor has restarted it. */
  kill9(name: string): Promise<{ readonly back: Promise<void> }>;
  /** The log of a service: one JSON object a line. */
  log(name: string): Promise<string>;
  /** Metrics of a service, as Prometheus reads them. */
  metrics(name: string): Promise<string>;
  /** Output of the launcher so far. */
  output(): string;
  /**
   * Drains and stops all, like SIGTERM. Returns the launcher's exit code. May be called again.
   * @throws when NATS denied a service a right: the tables in access.ts are incomplete
   */
  stop(): Promise<number | null>;
}

const KEY_BYTES = 16;
/** The stand-in database of one stack lives for a minute: its optimizing compiler does not pay off. */
const QUICK_JAVA = '-XX:TieredStopAtLevel=1';
/** Programs may have to be built first when a test file runs alone on a new machine. */
const START_TIMEOUT_MS = 300_000;
/** A service starts in a second or two, on a busy machine in many more. */
const BACK_TIMEOUT_MS = 180_000;
const WARNING = /"level":"(warn|error|fatal)"/;
const WARNINGS_MAX = 20;
const SERVES_AGAIN = /^(\S+) +serves again \(process \d+\)$/;
const LAUNCHER = join(ROOT, 'infra', 'local', 'src', 'start.ts');

/** Resolves at the ready line. Rejects with the launcher's output when it ends before that. */
export async function startStack(options: StartStackOptions = {}): Promise<TestStack> {
  const dataFolder = options.dataFolder ?? (await temporaryFolder('stack'));
  const key = `sy_${randomBytes(KEY_BYTES).toString('base64url')}`;
  // Own servers: those of the environment are shared with others.
  const { NATS_URL: _, MONGODB_URL: __, SWITCHYARD_TEST_MONGODB_URL: sharedUrl, ...machine } = process.env;
  const isShared = sharedUrl && !options.ownMongo && options.dataFolder === undefined;
  const database = isShared ? await mongo() : null;
  const env = {
    ...machine,
    SWITCHYARD_COMPUTERS: 'off',
    JDK_JAVA_OPTIONS: QUICK_JAVA,
    ...(options.services ? { SWITCHYARD_SERVICES: options.services.join(',') } : {}),
    SWITCHYARD_KEY: key,
    PORT: String(await ownPort()),
    SWITCHYARD_NATS_PORT: String(await ownPort()),
    ...(database ? { MONGODB_URL: urlOf(database) } : { SWITCHYARD_MONGODB_PORT: String(await ownPort()) }),
    ...options.env,
    SWITCHYARD_DATA: dataFolder,
  };
  const [command, ...args] = killedWithParent('SIGTERM', process.execPath, [LAUNCHER]);
  const launcher = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => launcher.kill('SIGTERM');
  process.once('exit', kill);
  const end = async () => {
    process.off('exit', kill);
    if (launcher.exitCode === null && launcher.signalCode === null) {
      const gone = once(launcher, 'exit');
      launcher.kill('SIGTERM');
      await gone;
    }
    await database?.stop();
  };
  const output = listen(launcher);
  const ready = output.untilLine((line) => line.match(READY_LINE)?.[1], START_TIMEOUT_MS);
  const url = await ready.catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const addresses = readAddresses(dataFolder);
  const pidOf = async (name: string) =>
    Number(await readFile(join(dataFolder, 'run', `${name}.pid`), 'utf8'));
  const log = (name: string) => readFile(join(dataFolder, 'logs', `${name}.log`), 'utf8');

  return {
    url,
    key: env.SWITCHYARD_KEY,
    dataFolder,
    natsUrl: addresses.NATS_URL,
    mongoUrl: database ? addresses.MONGODB_URL : `${addresses.MONGODB_URL}/switchyard`,
    pidOf,
    async kill9(name) {
      const pid = await pidOf(name);
      const back = output.untilLine((line) => (line.match(SERVES_AGAIN)?.[1] === name ? name : undefined));
      // Callers may ignore whether it returns.
      back.catch(() => {});
      process.kill(pid, 'SIGKILL');
      return { back: back.then(() => {}) };
    },
    log,
    metrics: async (name) => (await fetch(`${healthUrl(await log(name))}/metrics`)).text(),
    output: output.all,
    async stop() {
      await end();
      if (options.dataFolder === undefined) await removeFolder(dataFolder);
      const refused = /^.*Permissions Violation.*$/m.exec(output.all())?.[0];
      if (refused !== undefined) throw new Error(`libs/bus/src/access.ts lacks a right: ${refused}`);
      return launcher.exitCode;
    },
  };
}

/** Its options follow the name of the database. */
function urlOf({ url, database }: TestDatabase): string {
  const named = new URL(url);
  named.pathname = database;
  return named.href;
}

/** @throws with the warnings of the agent, when a mount that it left keeps the folder */
async function removeFolder(dataFolder: string): Promise<void> {
  const agentLog = await readFile(join(dataFolder, 'logs', 'computer-agent.log'), 'utf8').catch(() => '');
  await rm(dataFolder, { recursive: true, force: true }).catch((error: Error) => {
    const warnings = agentLog.split('\n').filter((line) => WARNING.test(line));
    const last = warnings.slice(-WARNINGS_MAX).join('\n');
    throw new Error(`${error.message}; the last warnings of the agent:\n${last}`, { cause: error });
  });
}

/** The health server of a service, from the last line `ready` of its log. */
function healthUrl(log: string): string {
  const found = [...log.matchAll(/"health":"([^"]+)".*"msg":"ready"/g)].at(-1)?.[1];
  if (found === undefined) throw new Error('the log has no line `ready`');
  return found;
}

interface LauncherOutput {
  all(): string;
  /** The first result of `find` on a line still to come. Rejects when the launcher ends, or after the time. */
  untilLine<T>(find: (line: string) => T | undefined, timeoutMs?: number): Promise<T>;
}

function listen(launcher: ChildProcess): LauncherOutput {
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  for (const stream of [launcher.stdout!, launcher.stderr!]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const listener of listeners) listener(line);
    });
  }
  const all = () => lines.join('\n');
  return {
    all,
    untilLine(find, timeoutMs = BACK_TIMEOUT_MS) {
      return new Promise((resolve, reject) => {
        const fail = (reason: string) => end(() => reject(new Error(`The launcher ${reason}:\n${all()}`)));
        const ended = () => fail('ended');
        const timer = setTimeout(() => fail(`printed no match in ${timeoutMs / 1000} s`), timeoutMs);
        const listener = (line: string) => {
          const found = find(line);
          if (found !== undefined) end(() => resolve(found));
        };
        function end(settle: () => void): void {
          clearTimeout(timer);
          listeners.delete(listener);
          launcher.off('close', ended);
          settle();
        }
        listeners.add(listener);
        launcher.once('close', ended);
      });
    },
  };
}
