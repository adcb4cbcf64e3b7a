// Speaks to the init of one computer over its unix socket: runs commands, waits for their ends, attaches to those
// that an earlier agent started. The socket lives as long as the init: when it closes, the computer has ended.
import { closeSync, constants, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { COMMAND_BYTES_MAX, ServiceError } from '@switchyard/contracts';
import { inTime } from '@switchyard/service';
import {
  type AttachOptions,
  type ExecOptions,
  type ExecResult,
  type KnownExec,
  STREAM_WINDOW_BYTES,
} from './exec.ts';
import {
  decodeEnd,
  decodeFailure,
  decodeFiles,
  decodeList,
  EXEC_ID_BYTES_MAX,
  encodeFrame,
  encodeId,
  encodeOpenStream,
  encodePaths,
  encodeStart,
  encodeWindow,
  FRAME_PAYLOAD_BYTES_MAX,
  type Frame,
  frameDecoder,
  PROTOCOL_VERSION,
  SINCE,
  STDIN_BYTES_MAX,
  type StreamRequest,
} from './init-frames.ts';
import { InitStream, STREAM_CREDIT_BYTES } from './init-stream.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5_000;
/** It gives processes two seconds to end in order; far beyond that it hangs. */
const STOP_MS_MAX = 4_000;
/** A server that listens and accepts nobody is given up after this. */
const OPEN_STREAM_TIMEOUT_MS = 10_000;
/** What the init may need beyond a command's own timeout to kill a tree that resists. */
const KILL_GRACE_MS = 20_000;
/** The same for a stream, whose end comes only after its output was taken: since the last piece of it. */
const STREAM_GRACE_MS = 120_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const TIMEOUT_MS_MAX = 48 * 3_600_000;

export interface InitClient {
  exec(options: ExecOptions): Promise<ExecResult>;
  attach(execId: string, options?: AttachOptions): Promise<ExecResult>;
  execs(): Promise<KnownExec[]>;
  /** Reads small files of the computer as its init sees them; null for one that cannot be read. */
  readFiles(paths: readonly string[]): Promise<(string | null)[]>;
  /**
   * Opens a connection to a port inside, or a terminal.
   * @param signal aborting it breaks the stream off, opened or not
   * @throws ServiceError `port_unreachable`, `rate_limited`, `computer_failed`
   */
  openStream(request: StreamRequest, signal: AbortSignal): Promise<InitStream>;
  /**
   * Has it end all that runs, and then itself.
   * @returns whether it did: one that is too old cannot, and one that hangs does not
   */
  stop(): Promise<boolean>;
  /** How many execs wait for their end on this connection. */
  readonly waiting: number;
  /** Resolves when the connection has ended, by whomever. */
  readonly closed: Promise<void>;
  readonly isClosed: boolean;
  /** Ends the connection. The computer and its execs go on; pending promises reject. */
  close(): void;
}

/** One exec, or one question, that waits for frames on its channel. */
interface Channel {
  onFrame(frame: Frame): void;
  onLost(error: ServiceError): void;
}

/** @throws ServiceError `computer_failed` when no init answers there in time. */
export async function connectInit(socketPath: string): Promise<InitClient> {
  const socket = await openSocket(socketPath);
  const channels = new Map<number, Channel>();
  const hello = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  /** Execs whose end was not received here yet, by channel. */
  const followed = new Map<number, string>();
  let lastChannel = 0;
  let version = 0;

  const decode = frameDecoder((frame) => {
    if (frame.type === 'H') {
      version = frame.payload.readUInt32LE(0);
      if (version >= SINCE.execs && version <= PROTOCOL_VERSION) hello.resolve();
      else hello.reject(new ServiceError('computer_failed', `the init speaks protocol ${version}`));
      return;
    }
    channels.get(frame.channel)?.onFrame(frame);
  });
  socket.on('data', (bytes) => {
    try {
      decode(bytes);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
  socket.on('error', () => {}); // 'close' follows, and says it to all
  socket.on('close', () => {
    const lost = new ServiceError(
      'computer_failed',
      'the computer went away before the command was known to end',
    );
    hello.reject(lost);
    for (const channel of [...channels.values()]) channel.onLost(lost);
    closed.resolve();
  });

  /** @throws ServiceError `computer_failed` where the init is older than what is asked of it. */
  const requireVersion = (since: number) => {
    if (version >= since) return;
    const message = 'the computer runs since before this was possible: stop it and start it again';
    throw new ServiceError('computer_failed', message);
  };

  const openChannel = (channel: Channel): number => {
    lastChannel = (lastChannel + 1) % 0xffff_ffff;
    channels.set(lastChannel, channel);
    return lastChannel;
  };

  /** Sends the frame that begins or attaches to an exec, and gathers its output until its end. */
  const follow = async (
    type: 'E' | 'A',
    execId: string,
    payload: Buffer,
    timeoutMs: number,
    options: AttachOptions & Pick<ExecOptions, 'consume'>,
  ): Promise<ExecResult> => {
    if (socket.destroyed) throw new ServiceError('computer_failed', 'the computer is gone');
    const result = Promise.withResolvers<ExecResult>();
    const output: Buffer[] = [];
    const { consume } = options;
    const grant = (bytes: number) => {
      if (!socket.destroyed) socket.write(encodeFrame('W', channel, encodeWindow(bytes)));
    };
    const outlet = consume && handOn(consume, grant);
    const channel = openChannel({
      onFrame({ type, payload }) {
        if (type === 'O') {
          const chunk = Buffer.from(payload);
          if (outlet) {
            overdue.refresh();
            return outlet(chunk);
          }
          output.push(chunk);
          options.onOutput?.(chunk);
        } else if (type === 'X') {
          result.resolve({ ...decodeEnd(payload), output: concat(output) });
        } else if (type === 'F') {
          result.reject(failureOf(decodeFailure(payload)));
        }
      },
      onLost: result.reject,
    });
    const cancel = () => socket.write(encodeFrame('K', channel));
    const overdue = setTimeout(
      () => {
        result.reject(
          new ServiceError('computer_failed', 'the computer did not report the end of the command'),
        );
      },
      timeoutMs + (outlet ? STREAM_GRACE_MS : KILL_GRACE_MS),
    );
    followed.set(channel, execId);
    try {
      socket.write(encodeFrame(type, channel, payload));
      if (outlet) grant(STREAM_WINDOW_BYTES);
      if (options.signal?.aborted) cancel();
      options.signal?.addEventListener('abort', cancel, { once: true });
      return await result.promise;
    } finally {
      followed.delete(channel);
      clearTimeout(overdue);
      options.signal?.removeEventListener('abort', cancel);
      channels.delete(channel);
      if (!socket.destroyed) socket.write(encodeFrame('R', channel));
    }
  };

  /** Sends a question and waits for its answer. */
  const ask = async (type: 'L' | 'M', payload?: Buffer): Promise<Buffer> => {
    if (socket.destroyed) throw new ServiceError('computer_failed', 'the computer is gone');
    const answer = Promise.withResolvers<Buffer>();
    const channel = openChannel({
      onFrame: ({ payload }) => answer.resolve(Buffer.from(payload)),
      onLost: answer.reject,
    });
    const timer = setTimeout(() => {
      answer.reject(new ServiceError('computer_failed', 'the init of the computer does not answer'));
    }, ANSWER_TIMEOUT_MS);
    try {
      socket.write(encodeFrame(type, channel, payload));
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      channels.delete(channel);
    }
  };

  const timer = setTimeout(() => {
    hello.reject(new ServiceError('computer_failed', 'the init of the computer does not answer'));
  }, CONNECT_TIMEOUT_MS);
  try {
    await hello.promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }

  return {
    async exec(options) {
      validate(options);
      const { id, command, timeoutMs, outputBytesMax, cwd = '', env = {}, stdin } = options;
      const { keep: kept = false, consume } = options;
      const streamed = consume !== undefined;
      if (streamed || kept) requireVersion(SINCE.execFlags);
      const start = { id, command, cwd, env, timeoutMs, outputBytesMax, stdin, streamed, kept };
      const payload = encodeStart(start);
      // The init hangs up on more: it would be taken for the computer's end. What the kernel takes is far less.
      if (payload.length > FRAME_PAYLOAD_BYTES_MAX)
        throw new ServiceError('invalid_request', 'command and environment are too big together', {
          param: 'env',
        });
      return follow('E', id, payload, timeoutMs, options);
    },
    attach: (execId, options = {}) => follow('A', execId, encodeId(execId), TIMEOUT_MS_MAX, options),
    async execs() {
      const known = decodeList(await ask('L'));
      const ids = new Set(followed.values());
      return known.map((exec) => ({ ...exec, running: exec.running || ids.has(exec.id) }));
    },
    async readFiles(paths) {
      requireVersion(SINCE.files);
      return decodeFiles(await ask('M', encodePaths(paths)));
    },
    async openStream(request, signal) {
      signal.throwIfAborted();
      if (socket.destroyed) throw new ServiceError('computer_failed', 'the computer is gone');
      requireVersion(SINCE.streams);
      const stream = new InitStream({
        send: (type, payload) => void socket.write(encodeFrame(type, channel, payload)),
        forget: () => channels.delete(channel),
      });
      const channel = openChannel({
        onFrame: (frame) => stream.received(frame),
        onLost: (error) => stream.lost(error),
      });
      const onAbort = () => stream.destroy(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      stream.once('close', () => signal.removeEventListener('abort', onAbort));
      const late = setTimeout(() => {
        const message = 'the server in the computer does not accept the connection';
        stream.destroy(new ServiceError('port_unreachable', message, { details: { reason: 'silent' } }));
      }, OPEN_STREAM_TIMEOUT_MS);
      try {
        socket.write(encodeFrame('s', channel, encodeOpenStream(request, STREAM_CREDIT_BYTES)));
        await stream.opened;
        return stream;
      } finally {
        clearTimeout(late);
      }
    },
    async stop() {
      if (socket.destroyed || version < SINCE.stop) return false;
      socket.write(encodeFrame('T', 0));
      const ended = inTime(closed.promise, STOP_MS_MAX, () => new Error('the init hangs'));
      return ended.then(
        () => true,
        () => false,
      );
    },
    get waiting() {
      return followed.size;
    },
    closed: closed.promise,
    get isClosed() {
      return socket.destroyed;
    },
    close: () => void socket.destroy(),
  };
}

/** Hands output on, and grants as much again once it was taken: half a window at a time. */
function handOn(
  consume: (chunk: Buffer) => void | Promise<void>,
  grant: (bytes: number) => void,
): (chunk: Buffer) => void {
  let owed = 0;
  const taken = (bytes: number) => {
    owed += bytes;
    if (owed < STREAM_WINDOW_BYTES / 2) return;
    grant(owed);
    owed = 0;
  };
  return (chunk) => {
    const taking = consume(chunk);
    if (taking) void taking.then(() => taken(chunk.length));
    else taken(chunk.length);
  };
}

/** A path over 107 bytes does not fit a socket address; through the directory's descriptor it always does. */
async function openSocket(path: string): Promise<Socket> {
  let directory: number | undefined;
  try {
    directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
    const socket = connect(`/proc/self/fd/${directory}/${basename(path)}`);
    const opened = Promise.withResolvers<void>();
    socket.once('connect', opened.resolve);
    socket.once('error', opened.reject);
    await opened.promise;
    return socket;
  } catch (error) {
    throw new ServiceError('computer_failed', 'the init of the computer cannot be reached', { cause: error });
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
}

function concat(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}

function validate({ id, command, timeoutMs, outputBytesMax, cwd, env, stdin }: ExecOptions): void {
  const refuse = (param: string, message: string): never => {
    throw new ServiceError('invalid_request', message, { param });
  };
  if (id.length === 0 || Buffer.byteLength(id) > EXEC_ID_BYTES_MAX || id.includes('\0')) {
    throw new TypeError(`not the id of an exec: ${id}`);
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MS_MAX) {
    throw new RangeError(`timeoutMs is ${timeoutMs}`);
  }
  if (!Number.isInteger(outputBytesMax) || outputBytesMax < 0 || outputBytesMax > OUTPUT_BYTES_MAX) {
    throw new RangeError(`outputBytesMax is ${outputBytesMax}`);
  }
  if (Buffer.byteLength(command) > COMMAND_BYTES_MAX) {
    refuse('command', `command is over ${COMMAND_BYTES_MAX} bytes`);
  }
  if (command.includes('\0')) refuse('command', 'command must not hold a zero byte');
  if (cwd?.includes('\0')) refuse('cwd', 'cwd must not hold a zero byte');
  if (stdin && stdin.length > STDIN_BYTES_MAX) refuse('stdin', `stdin is over ${STDIN_BYTES_MAX} bytes`);
  for (const [name, value] of Object.entries(env ?? {})) {
    if (name === '' || /[=\0]/.test(name))
      refuse('env', 'env has a name that is empty or holds "=" or a zero byte');
    if (value.includes('\0')) refuse('env', `env.${name} must not hold a zero byte`);
  }
}

/** The parameter to blame for each failure that the caller caused; all others are the computer's. */
const BLAMED_PARAMS: Readonly<Record<string, string>> = { bad_cwd: 'cwd', too_big: 'env' };

function failureOf({ code, message }: { code: string; message: string }): ServiceError {
  const param = BLAMED_PARAMS[code];
  if (param) return new ServiceError('invalid_request', message, { param });
  return new ServiceError('computer_failed', message, { details: { reason: code } });
}
