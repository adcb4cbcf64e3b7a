// Client of one computer's init: runs commands, attaches to those that an earlier agent started, and opens streams.
import { ServiceError } from '@switchyard/contracts';
import { withTimeout } from '@switchyard/service';
import type { AttachOptions, ExecOptions, ExecResult, KnownExec } from './exec.ts';
import { type InitConnection, initDoesNotAnswer, openInitConnection } from './init-connection.ts';
import { type FirstFrame, followExec, startFrame } from './init-exec.ts';
import {
  decodeFiles,
  decodeList,
  encodeOpenStream,
  encodeStrings,
  type StreamRequest,
} from './init-frames.ts';
import { InitStream, STREAM_CREDIT_BYTES } from './init-stream.ts';

const ANSWER_TIMEOUT_MS = 10_000;
/** The init gives processes two seconds to end. After this time it is considered hung. */
const STOP_MS_MAX = 4_000;
/** Connecting to a port that does not accept is given up after this time. */
const OPEN_STREAM_TIMEOUT_MS = 10_000;
/** The longest timeout of a command, whose end an attached caller may wait for. */
const ATTACHED_MS_MAX = 48 * 3_600_000;

/** @throws ServiceError `computer_failed` when no init answers in time */
export async function connectInit(socketPath: string): Promise<InitClient> {
  return new InitClient(await openInitConnection(socketPath));
}

export class InitClient {
  readonly #connection: InitConnection;
  /** Execs whose end was not received yet. */
  readonly #followed = new Set<{ readonly id: string }>();

  constructor(connection: InitConnection) {
    this.#connection = connection;
  }

  /** Resolves when either side has closed the connection. */
  get closed(): Promise<void> {
    return this.#connection.closed;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  /** Closes the connection. The computer and its execs continue; pending promises reject. */
  close(): void {
    this.#connection.close();
  }

  /**
   * Runs a command and waits for its end. A non-zero exit, a timeout and a cancel are results, not errors.
   * @throws ServiceError `invalid_request` (param `cwd`, `env`); `rate_limited`; `computer_failed` when the computer ended or the
   * result cannot be known
   */
  async exec(options: ExecOptions): Promise<ExecResult> {
    return this.#follow(options.id, startFrame(options), options.timeoutMs, options);
  }

  /** Waits for the end of an exec that an earlier agent started. */
  attach(id: string, options: AttachOptions = {}): Promise<ExecResult> {
    return this.#follow(id, { type: 'A', payload: encodeStrings([id]) }, ATTACHED_MS_MAX, options);
  }

  /** Running execs, and ended execs whose result was not received (after a restart of the agent). */
  async execs(): Promise<KnownExec[]> {
    const known = decodeList(await this.#ask('L'));
    const followed = new Set([...this.#followed].map(({ id }) => id));
    return known.map((exec) => ({ ...exec, running: exec.running || followed.has(exec.id) }));
  }

  /** Reads small files (cgroups, /proc) as the init sees them; null for a file that cannot be read. */
  async readFiles(paths: readonly string[]): Promise<(string | null)[]> {
    return decodeFiles(await this.#ask('M', encodeStrings(paths)));
  }

  /**
   * Connects to a port inside, also to a server that listens on localhost only; or opens a login shell in /workspace in
   * its own terminal, with which every process started in it ends.
   * @param signal aborting it resets the stream, opened or not
   * @throws ServiceError `port_unreachable` if no server listens, `rate_limited`, `computer_failed`
   */
  async openStream(request: StreamRequest, signal: AbortSignal): Promise<InitStream> {
    signal.throwIfAborted();
    const channel = this.#connection.openChannel({
      onFrame: (frame) => stream.received(frame),
      onLost: (error) => stream.lost(error),
    });
    const stream = new InitStream(channel);
    const onAbort = () => stream.destroy(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => signal.removeEventListener('abort', onAbort));
    const late = setTimeout(() => {
      const message = 'the server in the computer does not accept the connection';
      stream.destroy(new ServiceError('port_unreachable', message, { details: { reason: 'silent' } }));
    }, OPEN_STREAM_TIMEOUT_MS);
    try {
      channel.send('s', encodeOpenStream(request, STREAM_CREDIT_BYTES));
      await stream.opened;
      return stream;
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * Asks the init to end every process, and then itself.
   * @returns false when the init does not respond
   */
  async stop(): Promise<boolean> {
    if (this.isClosed) return false;
    this.#connection.requestEnd();
    return withTimeout(this.closed, STOP_MS_MAX, initDoesNotAnswer).then(
      () => true,
      () => false,
    );
  }

  async #follow(
    id: string,
    frame: FirstFrame,
    timeoutMs: number,
    options: AttachOptions & Pick<ExecOptions, 'consume'>,
  ): Promise<ExecResult> {
    const followed = { id };
    this.#followed.add(followed);
    try {
      return await followExec(this.#connection, frame, timeoutMs, options);
    } finally {
      this.#followed.delete(followed);
    }
  }

  /** Sends a question and waits for the answer. */
  async #ask(type: 'L' | 'M', payload?: Buffer): Promise<Buffer> {
    const answer = Promise.withResolvers<Buffer>();
    const channel = this.#connection.openChannel({
      onFrame: ({ payload }) => answer.resolve(Buffer.from(payload)),
      onLost: answer.reject,
    });
    try {
      channel.send(type, payload);
      return await withTimeout(answer.promise, ANSWER_TIMEOUT_MS, initDoesNotAnswer);
    } finally {
      channel.close();
    }
  }
}
