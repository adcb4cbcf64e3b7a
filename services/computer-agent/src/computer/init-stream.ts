// A byte stream to the inside of a computer, through its init: a connection to a port, or a terminal. Both ways under
// credit, so that whoever is slow slows the other side, and neither the init nor the agent holds more than a window.
import { Duplex } from 'node:stream';
import { ServiceError } from '@switchyard/contracts';
import { decodeFailure, type Frame, type RequestType } from './init-frames.ts';

/** Bytes that the init may send before they were read here. */
export const STREAM_CREDIT_BYTES = 256 * 1024;
const FRAME_BYTES_MAX = 64 * 1024;

/** Bytes into a port and out of it; each half ends by itself. Destroying it breaks the connection off. */
export type PortStream = Duplex;

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What is typed, and what is shown. Ending or destroying it kills all that was started in it. */
export interface TerminalStream extends Duplex {
  resize(size: TerminalSize): void;
  /** Of its shell, as a shell would say it; rejects when it ended otherwise. */
  readonly exitCode: Promise<number>;
}

/** The init's side of one stream. */
export interface StreamWire {
  send(type: RequestType, payload?: Uint8Array): void;
  /** Nothing further is to be told of the stream. */
  forget(): void;
}

export class InitStream extends Duplex implements TerminalStream {
  readonly #wire: StreamWire;
  readonly #opened = Promise.withResolvers<void>();
  readonly #exit = Promise.withResolvers<number>();
  /** Bytes that may be sent. */
  #credit = 0;
  #unsent: { bytes: Buffer; done: () => void } | null = null;
  /** Bytes that came and were not granted again. */
  #owed = 0;
  #inputEnded = false;
  #outputEnded = false;
  #over = false;

  constructor(wire: StreamWire) {
    super({ allowHalfOpen: true });
    this.#wire = wire;
    this.#opened.promise.catch(() => {}); // whoever opens it hears of it
    this.#exit.promise.catch(() => {});
    this.on('error', () => {}); // an abrupt end is told to whoever reads or writes; it must never end the agent
  }

  /** Resolves when bytes can go; rejects, as the stream fails, with why they cannot. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get exitCode(): Promise<number> {
    return this.#exit.promise;
  }

  resize({ columns, rows }: TerminalSize): void {
    if (this.#over || this.destroyed) return;
    const size = Buffer.alloc(4);
    size.writeUInt16LE(columns, 0);
    size.writeUInt16LE(rows, 2);
    this.#wire.send('w', size);
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
    if (!this.#over) this.#wire.send('z');
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // Both halves that have ended in order need no breaking off; the last bytes may still be on their way.
    if (!this.#over && !(this.#inputEnded && this.#outputEnded)) this.#wire.send('c');
    this.#over = true;
    this.#wire.forget();
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
      this.#wire.send('d', bytes.subarray(0, count));
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

  /** Nobody takes what is still to be written. */
  #drop(): void {
    const unsent = this.#unsent;
    this.#unsent = null;
    unsent?.done();
  }

  #grant(bytesMin: number): void {
    if (this.#owed < bytesMin || this.#over) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(this.#owed, 0);
    this.#owed = 0;
    this.#wire.send('g', payload);
  }
}

/** As a shell shows a wait status: the exit code, or 128 + the signal's number. */
function exitCodeOf(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
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
