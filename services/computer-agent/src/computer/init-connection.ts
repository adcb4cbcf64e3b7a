// A connection to the init of one computer: frames over a unix socket, sorted by channel. The socket closes only when
// the agent closes it, or when the init, and so the computer, has ended.
import { closeSync, constants, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { withTimeout } from '@switchyard/service';
import { encodeFrame, type Frame, frameDecoder, PROTOCOL_VERSION, type RequestType } from './init-frames.ts';

/** An init answers at once; on a busy host its turn may come much later. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Channel of frames that belong to no exec and no stream. */
const NO_CHANNEL = 0;
const CHANNELS_MAX = 0xffff_ffff;

/** What an exec, a question or a stream does with the frames of its channel. */
interface ChannelHandler {
  onFrame(frame: Frame): void;
  /** The connection was closed. */
  onLost(error: ServiceError): void;
}

/** The init's side of one exec, question or stream. */
export interface Channel {
  /** Does nothing when the connection is closed. */
  send(type: RequestType, payload?: Uint8Array): void;
  /** Delivers no more frames to the handler. */
  close(): void;
}

/** @throws ServiceError `computer_failed` when no init answers in time, or one with another protocol */
export async function openInitConnection(socketPath: string): Promise<InitConnection> {
  const connection = new InitConnection(await openSocket(socketPath));
  try {
    await withTimeout(connection.greeted, CONNECT_TIMEOUT_MS, initDoesNotAnswer);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

export class InitConnection {
  readonly #socket: Socket;
  readonly #handlers = new Map<number, ChannelHandler>();
  readonly #greeted = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #lastChannel = NO_CHANNEL;

  constructor(socket: Socket) {
    this.#socket = socket;
    const decode = frameDecoder((frame) => this.#onFrame(frame));
    socket.on('data', (bytes) => {
      try {
        decode(bytes);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', () => {}); // 'close' follows and rejects all waiting calls
    socket.on('close', () => this.#onClose());
  }

  /** Resolves when the init has named its protocol. */
  get greeted(): Promise<void> {
    return this.#greeted.promise;
  }

  /** Resolves when either side has closed the connection. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** @throws ServiceError `computer_failed` when the connection is closed */
  openChannel(handler: ChannelHandler): Channel {
    if (this.isClosed) throw new ServiceError('computer_failed', 'the computer is gone');
    this.#lastChannel = (this.#lastChannel + 1) % CHANNELS_MAX;
    const channel = this.#lastChannel;
    this.#handlers.set(channel, handler);
    return {
      send: (type, payload) => this.#send(type, channel, payload),
      close: () => void this.#handlers.delete(channel),
    };
  }

  /** Asks the init to end the computer. The answer is that it closes the connection. */
  requestEnd(): void {
    this.#send('T', NO_CHANNEL);
  }

  #send(type: RequestType, channel: number, payload?: Uint8Array): void {
    if (!this.isClosed) this.#socket.write(encodeFrame(type, channel, payload));
  }

  #onFrame(frame: Frame): void {
    if (frame.type !== 'H') {
      this.#handlers.get(frame.channel)?.onFrame(frame);
      return;
    }
    const version = frame.payload.readUInt32LE(0);
    if (version === PROTOCOL_VERSION) this.#greeted.resolve();
    else
      this.#greeted.reject(
        new ServiceError('computer_failed', `the init of the computer speaks protocol ${version}`),
      );
  }

  #onClose(): void {
    const lost = new ServiceError('computer_failed', 'the computer ended before the command did');
    this.#greeted.reject(lost);
    for (const handler of [...this.#handlers.values()]) handler.onLost(lost);
    this.#closed.resolve();
  }
}

export function initDoesNotAnswer(): ServiceError {
  return new ServiceError('computer_failed', 'the init of the computer does not answer');
}

/** A socket address holds 107 bytes of path. A path through the directory's descriptor always fits. */
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
