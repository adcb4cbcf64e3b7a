// A duplex call of the bus as a stream: writes go to the request's body, reads come from the answer. The bus's credit
// applies in both directions.
import { Duplex, PassThrough } from 'node:stream';
import { type Bus, openReply, type Reply } from '@switchyard/bus';

interface DuplexCall {
  readonly subject: string;
  readonly head: unknown;
}

/**
 * Resolves when the service has accepted the call.
 * @param signal ends the call, accepted or not
 * @throws ServiceError with which the service refused it
 */
export async function openCallStream(bus: Bus, call: DuplexCall, signal: AbortSignal): Promise<CallStream> {
  const outgoing = new PassThrough(); // the bus reads it, and destroys it when the call ends
  return new CallStream(await openReply(bus, { ...call, body: outgoing }, signal), outgoing);
}

export class CallStream extends Duplex {
  readonly #reply: Reply;
  readonly #outgoing: PassThrough;

  constructor(reply: Reply, outgoing: PassThrough) {
    super({ allowHalfOpen: true });
    this.#reply = reply;
    this.#outgoing = outgoing;
    this.on('error', () => {}); // the reader or writer reports it; other listeners are optional
  }

  /** The last message of the service. */
  get answerEnd(): Promise<unknown> {
    return this.#reply.end;
  }

  override _read(): void {
    this.#reply.body.next().then(
      ({ done, value }) => this.push(done ? null : value),
      (error: Error) => this.destroy(error),
    );
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // Without a reader the bytes are dropped; the end of the answer has the reason.
    this.#outgoing.write(bytes, () => done());
  }

  override _final(done: () => void): void {
    this.#outgoing.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.readableEnded) this.#reply.cancel();
    this.#outgoing.destroy();
    done(error);
  }
}
