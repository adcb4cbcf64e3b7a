// Runs host programs (`mount`, `mkfs.ext4`, …) through a resident shell. Node.js would fork its own memory for each of
// them, which blocks the agent for 10 to 30 ms.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/** Default timeout of a program. */
const TIMEOUT_MS_DEFAULT = 3_600_000;
/** Kept output. With its head it fits into one write to a pipe, which is atomic. */
const OUTPUT_BYTES_MAX = 4_000;
/** Stands for a newline in an answer: the shell would write each line on its own, between those of other programs. */
const NEWLINE = '\x01';
const SIGNAL_CODES_FROM = 128;
/** Also for a program that timed out. */
const SIGKILL_CODE = SIGNAL_CODES_FROM + 9;

interface RunOptions {
  /** Milliseconds; then the program and everything that it started are killed. */
  readonly timeout?: number;
}

/** Serves all hosts that this process opens. */
let shell: ResidentShell | undefined;

/**
 * Runs a host program, found on the PATH, and waits for its end. Its stdin is empty.
 * @throws Error with the beginning of the program's output when it exits with a code other than 0, or by a signal; or
 * when the shell is killed, after which the program may still run
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { timeout = TIMEOUT_MS_DEFAULT }: RunOptions = {},
): Promise<void> {
  if (!shell?.isRunning) shell = new ResidentShell();
  const command = [program, ...args];
  const { code, output } = await shell.run(command, timeout);
  if (code === 0) return;
  const how =
    code > SIGNAL_CODES_FROM ? `was ended by signal ${code - SIGNAL_CODES_FROM}` : `exited with ${code}`;
  throw new Error(`${command.join(' ')} ${how}: ${output.trim()}`);
}

/** Process id of the shell, if it runs. */
export function shellPid(): number | undefined {
  return shell?.isRunning ? shell.pid : undefined;
}

interface Ended {
  /** 128 + signal number for a program that a signal ended. */
  readonly code: number;
  readonly output: string;
}

interface Pending {
  readonly ended: PromiseWithResolvers<Ended>;
  readonly timer: NodeJS.Timeout;
  /** Has all that the program started; undefined until the shell reports it. */
  processGroup: number | undefined;
  /** The program is killed as soon as its group is known. */
  isUnwanted: boolean;
}

/**
 * A shell that reads commands from its stdin. It answers `<request> <process group>` when a program has started, and
 * `<request> <exit code> <output>` when it has ended. The shell ends with this process; its programs run to their end.
 */
class ResidentShell {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #pending = new Map<number, Pending>();
  #lastRequest = 0;
  #unread = '';
  #isRunning = true;

  constructor() {
    // In the C locale, messages are in English and `printf` counts bytes.
    const env = { ...process.env, LC_ALL: 'C' };
    this.#child = spawn('bash', { stdio: ['pipe', 'pipe', 'ignore'], env });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.stdin.on('error', () => {}); // 'exit' follows
    this.#child.once('error', (error) => this.#close(error));
    this.#child.once('exit', () => this.#close(new Error('the shell that runs host programs was killed')));
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout] as { unref(): void }[])
      handle.unref();
    // Terminal signals reach the shell too, and the agent may still need it. `-m` gives each program a process group.
    this.#child.stdin.write("trap '' HUP INT TERM; set -m\n");
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  run(command: readonly string[], timeoutMs: number): Promise<Ended> {
    const request = ++this.#lastRequest;
    const ended = Promise.withResolvers<Ended>();
    const timer = setTimeout(() => this.#kill(request), timeoutMs);
    this.#pending.set(request, { ended, timer, processGroup: undefined, isUnwanted: false });
    this.#keepAlive();
    const program = command.map(quoted).join(' ');
    const answer = [
      'code=$?',
      `output=\${output:0:${OUTPUT_BYTES_MAX}}`,
      `output=\${output//$'\\n'/$'\\x01'}`,
      `printf '%s %s %s\\0' ${request} $code "$output"`,
    ].join('; ');
    this.#child.stdin.write(
      `(output=$(exec ${program} 2>&1 </dev/null); ${answer}) & printf '%s %s\\0' ${request} $!\n`,
    );
    return ended.promise;
  }

  #read(text: string): void {
    const answers = (this.#unread + text).split('\0');
    this.#unread = answers.pop() ?? '';
    for (const answer of answers) {
      const [, request, number, output] = /^(\d+) (\d+)(?: (.*))?$/s.exec(answer) ?? [];
      if (output === undefined) this.#started(Number(request), Number(number));
      else this.#settle(Number(request), { code: Number(number), output: output.replaceAll(NEWLINE, '\n') });
    }
  }

  #started(request: number, processGroup: number): void {
    const pending = this.#pending.get(request);
    if (!pending) return; // its end was read first
    pending.processGroup = processGroup;
    if (pending.isUnwanted) this.#kill(request);
  }

  #kill(request: number): void {
    const pending = this.#pending.get(request);
    if (!pending) return;
    pending.isUnwanted = true;
    // The program of a command that the shell has not read yet would start after this call.
    if (pending.processGroup === undefined) return;
    killGroup(pending.processGroup);
    this.#settle(request, { code: SIGKILL_CODE, output: '' });
  }

  #settle(request: number, ended: Ended): void {
    const pending = this.#pending.get(request);
    clearTimeout(pending?.timer);
    this.#pending.delete(request);
    pending?.ended.resolve(ended);
    this.#keepAlive();
  }

  #close(reason: Error): void {
    this.#isRunning = false;
    for (const { ended, timer } of this.#pending.values()) {
      clearTimeout(timer);
      ended.reject(reason);
    }
    this.#pending.clear();
    this.#keepAlive();
  }

  /** A pending program keeps this process running, as a child process would. */
  #keepAlive(): void {
    const output = this.#child.stdout as Socket;
    if (this.#pending.size > 0) output.ref();
    else output.unref();
  }
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // The program has just ended.
  }
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
