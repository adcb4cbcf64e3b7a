// A byte stream into a computer through its init: a connection to a port, or a terminal. Credit in both directions
// limits the init and the agent to one window of buffered bytes, so a slow reader slows the writer.
import { Duplex } from 'node:stream';
import { ServiceError } from '@switchyard/contracts';
import type { Channel } from './init-connection.ts';
import { decodeFailure, encodeUint32, exitCodeOf, type Frame, type TerminalSize } from './init-frames.ts';

/** Bytes that the init may send ahead of the reader. */
export const STREAM_CREDIT_BYTES = 256 * 1024;
const FRAME_BYTES_MAX = 64 * 1024;

/**
 * To a port: each direction ends separately, and destroying the stream resets the connection. To a terminal: keyboard
 * input and screen output; ending or destroying it kills every process started in the terminal.
 */
export class InitStream extends Duplex {
  readonly #channel: Channel;
  readonly #opened = Promise.withResolvers<void>();
  readonly #exit = Promise.withResolvers<number>();
  /** Bytes that may be sent. */
  #credit = 0;
  #unsent: { bytes: Buffer; done: () => void } | null = null;
  /** Bytes received and not yet granted again. */
  #owed = 0;
  #inputEnded = false;
  #outputEnded = false;
  #over = false;

  constructor(channel: Channel) {
    super({ allowHalfOpen: true });
    this.#channel = channel;
    this.#opened.promise.catch(() => {}); // the caller of `opened` gets the rejection
    this.#exit.promise.catch(() => {});
    this.on('error', () => {}); // readers and writers get the error; without a listener it would end the agent
  }

  /** Resolves when bytes can be sent. Rejects with the reason, which also fails the stream. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Exit code of a terminal's shell, or 128 + signal number. Rejects when the terminal ended otherwise. */
  get exitCode(): Promise<number> {
    return this.#exit.promise;
  }

  /** Terminal only. */
  resize({ columns, rows }: TerminalSize): void {
    if (this.#over || this.destroyed) return;
    const size = Buffer.alloc(4);
    size.writeUInt16LE(columns, 0);
    size.writeUInt16LE(rows, 2);
    this.#channel.send('w', size);
  }

  received({ type, payload }: Frame): void {
    switch (type) {
      case 'g':
        this.#credit += payload.readUInt32LE(0);
        this.#opened.resolve();
        return this.#send();
      case 'd':
        this.#owed += payload.length;
        if (this.push(Buffer.from(payload))) this.#grant(STREAM_CREDIT_BYTES / 2);
        return;
      case 'z':
        return this.#endOutput();
      case 'y':
        this.#over = true;
        this.#exit.resolve(exitCodeOf(payload.readUInt32LE(0)));
        this.#endOutput();
        return this.#drop();
      case 'F':
        this.#over = true;
        this.destroy(streamFailure(decodeFailure(payload)));
    }
  }

  lost(error: ServiceError): void {
    this.#over = true;
    this.destroy(error);
  }

  override _read(): void {
    this.#grant(1);
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#unsent = { bytes, done };
    this.#send();
  }

  override _final(done: () => void): void {
    this.#inputEnded = true;
    if (!this.#over) this.#channel.send('z');
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // No reset is needed when both directions ended in order; the last bytes may still be in flight.
    if (!this.#over && !(this.#inputEnded && this.#outputEnded)) this.#channel.send('c');
    this.#over = true;
    this.#channel.close();
    const reason = error ?? new ServiceError('service_unavailable', 'the connection was closed');
    this.#opened.reject(reason);
    this.#exit.reject(reason);
    done(error);
  }

  #endOutput(): void {
    if (this.#outputEnded) return;
    this.#outputEnded = true;
    this.push(null);
  }

  #send(): void {
    while (this.#unsent && this.#credit > 0 && !this.#over) {
      const { bytes, done } = this.#unsent;
      const count = Math.min(bytes.length, this.#credit, FRAME_BYTES_MAX);
      this.#channel.send('d', bytes.subarray(0, count));
      this.#credit -= count;
      if (count < bytes.length) {
        this.#unsent = { bytes: bytes.subarray(count), done };
        continue;
      }
      this.#unsent = null;
      done();
    }
    if (this.#over) this.#drop();
  }

  /** Discards what is still to be written. */
  #drop(): void {
    const unsent = this.#unsent;
    this.#unsent = null;
    unsent?.done();
  }

  #grant(bytesMin: number): void {
    if (this.#owed < bytesMin || this.#over) return;
    this.#channel.send('g', encodeUint32(this.#owed));
    this.#owed = 0;
  }
}

function streamFailure({ code, message }: { code: string; message: string }): ServiceError {
  const details = { reason: code };
  switch (code) {
    case 'refused':
    case 'reset':
      return new ServiceError('port_unreachable', message, { details });
    case 'too_many_streams':
    case 'too_many_execs':
      return new ServiceError('rate_limited', message, { details, retryAfterS: 1 });
    default:
      return new ServiceError('computer_failed', message, { details });
  }
}
