// A duplex call of the bus as a stream: what is written is the request's body, what is read the answer's. Both ways under
// the bus's credit.
import { Duplex } from 'node:stream';
import { type Bus, openReply, type Reply } from '@switchyard/bus';

export interface DuplexCall {
  readonly subject: string;
  readonly head: unknown;
}

/**
 * Resolves when the service has taken the call.
 * @param signal aborting it ends the call, taken or not
 * @throws ServiceError as the service refused it
 */
export async function openCallStream(bus: Bus, call: DuplexCall, signal: AbortSignal): Promise<CallStream> {
  const outgoing = new Handoff();
  return new CallStream(await openReply(bus, { ...call, body: outgoing }, signal), outgoing);
}

export class CallStream extends Duplex {
  readonly #reply: Reply;
  readonly #outgoing: Handoff;

  constructor(reply: Reply, outgoing: Handoff) {
    super({ allowHalfOpen: true });
    this.#reply = reply;
    this.#outgoing = outgoing;
    this.on('error', () => {}); // told to whoever reads or writes; nobody else need listen
  }

  /** What the service said at the end. */
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
    this.#outgoing.offer(bytes, done);
  }

  override _final(done: () => void): void {
    this.#outgoing.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.readableEnded) this.#reply.cancel();
    this.#outgoing.leave();
    done(error);
  }
}

type Step = IteratorResult<Uint8Array, undefined>;

/** Hands chunks from a writer to the bus one at a time: the next one is taken when the one before has gone on. */
class Handoff implements AsyncIterableIterator<Uint8Array, undefined> {
  #offered: { bytes: Uint8Array; gone: () => void } | null = null;
  #inHand: (() => void) | null = null;
  #waiting: ((step: Step) => void) | null = null;
  #ended = false;
  #left = false;

  /** @param gone called when the bytes may be written over and the next ones offered */
  offer(bytes: Uint8Array, gone: () => void): void {
    if (this.#left) return gone(); // nobody takes it any more; the end of the answer says why
    this.#offered = { bytes, gone };
    this.#hand();
  }

  end(): void {
    this.#ended = true;
    this.#hand();
  }

  leave(): void {
    this.#left = true;
    this.#ended = true;
    const offered = this.#offered;
    this.#offered = null;
    offered?.gone();
    this.#layDown();
    this.#hand();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.#layDown();
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#hand();
    });
  }

  return(): Promise<Step> {
    this.leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  #layDown(): void {
    const gone = this.#inHand;
    this.#inHand = null;
    gone?.();
  }

  #hand(): void {
    const waiting = this.#waiting;
    if (!waiting || (!this.#offered && !this.#ended)) return;
    this.#waiting = null;
    const offered = this.#offered;
    this.#offered = null;
    if (!offered) return waiting({ done: true, value: undefined });
    this.#inHand = offered.gone;
    waiting({ done: false, value: offered.bytes });
  }
}
