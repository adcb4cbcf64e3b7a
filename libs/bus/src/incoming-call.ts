// One call at its service: its body is granted to the caller as it is read, and its answer is sent under the caller's
// credit.

import { type Event, eventStream, eventSubject, ServiceError, toWireError } from '@switchyard/contracts';
import { ByteSender } from './byte-sender.ts';
import { encodeFrame, FRAME, type Frame, readError } from './frame.ts';
import { collectBody, IncomingBody } from './incoming-body.ts';
import { ACCEPT_AFTER_MS, COLLECTED_BODY_BYTES_MAX, WINDOW_BYTES } from './limits.ts';
import type { RecentEvent } from './recent-events.ts';
import type { TurnPublisher } from './turn-publisher.ts';

/** Answers up to this size travel in one message with their head and end. */
const WHOLE_BYTES_MAX = 256 * 1024;

interface IncomingCallDeps {
  publisher: TurnPublisher;
  /** Publishes the event of the answer, and again when the caller asks. */
  publishEvent(event: RecentEvent): void;
  reply: string;
  /** On which it was called. */
  subject: string;
  from: string;
  /** Number of the caller's connection that carried the call. */
  fromLink: number;
  /** JSON members: where the caller reaches this instance, and over which connection. */
  at: string;
  closed(): void;
}

/** A call being served. It ends by `end`, by `fail`, or when the caller goes away (`signal`). */
export class IncomingCall {
  readonly head: unknown;
  readonly #inline: Buffer;
  readonly #more: boolean;
  readonly #deps: IncomingCallDeps;
  readonly #out: ByteSender;
  readonly #takenAt = performance.now();
  #replyHead: unknown;
  #headSent = false;
  #spoke = false;
  #done = false;
  #abort: AbortController | null = null;
  /** Why the caller gave up the call; null when it did not. */
  #cancelled: ServiceError | null = null;
  #onCancelled: (() => void) | null = null;
  #body: IncomingBody | null = null;
  #whole: Promise<Buffer> | null = null;

  constructor(head: unknown, inline: Buffer, more: boolean, credit: number, deps: IncomingCallDeps) {
    this.head = head;
    this.#inline = inline;
    this.#more = more;
    this.#deps = deps;
    this.#out = new ByteSender(credit, (frame) => deps.publisher.publish(deps.reply, frame));
  }

  /** On which it was called: nats-server has let the caller use it. */
  get subject(): string {
    return this.#deps.subject;
  }

  get from(): string {
    return this.#deps.from;
  }

  get fromLink(): number {
    return this.#deps.fromLink;
  }

  /** Aborted when the caller goes away before the end. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#cancelled) this.#abort.abort(this.#cancelled);
    }
    return this.#abort.signal;
  }

  /** Calls `run` once if the caller goes away before the end. Cheaper than `signal` on hot paths. */
  onCancelled(run: () => void): void {
    if (this.#cancelled) run();
    else this.#onCancelled = run;
  }

  get isCancelled(): boolean {
    return this.#cancelled !== null;
  }

  /**
   * The whole body of the request.
   * @throws ServiceError `body_too_large` over `bytesMax`; `service_unavailable` when the caller goes away.
   */
  readBody(bytesMax: number = COLLECTED_BODY_BYTES_MAX): Promise<Buffer> {
    if (!this.#more) return Promise.resolve(this.#inline);
    if (this.#whole) return this.#whole;
    this.#whole = collectBody(this.body(), bytesMax);
    this.#whole.catch(() => {}); // the error reaches the code that awaits the body; it may not await it yet
    return this.#whole;
  }

  /**
   * The body of the request as a stream, to be read once. Reading on lets the caller send more. After leaving the
   * loop early, end the call: the caller sends nothing more until then.
   * A step throws the ServiceError with which the caller's source failed, or `service_unavailable` when the caller
   * goes away or this call has ended.
   */
  body(): AsyncIterableIterator<Buffer, undefined, undefined> {
    if (this.#body) return this.#body.chunks;
    this.#body = new IncomingBody((bytes) => this.#grant(bytes));
    const { chunks } = this.#body;
    if (!this.#more) chunks.end(this.#inline);
    else if (this.#done) chunks.fail(this.#cancelled ?? over());
    else this.#grant(WINDOW_BYTES);
    return chunks;
  }

  /** Sets the reply's head, sent together with the first byte. */
  setHead(head: unknown): void {
    this.#replyHead = head;
  }

  /** Sends a piece of the answer. Returns false when the caller is behind: wait for `drained` before the next piece. */
  write(bytes: Uint8Array): boolean {
    if (this.#done) return true;
    this.#sendHead();
    return this.#out.write(bytes);
  }

  drained(): Promise<void> {
    return this.#out.drained();
  }

  /** Sends the answer at the caller's pace, and ends it. Reads no further when the caller goes away. */
  async send(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of pieces) {
      if (!this.write(piece)) await this.drained();
      if (this.isCancelled) return;
    }
    this.end(null);
  }

  /**
   * Ends the answer. An event is published first, and its PubAck goes straight to the caller. The caller holds back
   * the end until the PubAck arrives: the usage of a call is stored before its last byte is delivered.
   */
  end(end: unknown, last?: Uint8Array, event?: Event): void {
    if (this.#done) return;
    if (event !== undefined)
      this.#deps.publishEvent({
        subject: eventSubject(event),
        payload: Buffer.from(JSON.stringify(event)),
        reply: `${this.#deps.reply}.a`,
        headers: { id: event.id, stream: eventStream(event) },
      });
    const tail = `"end":${JSON.stringify(end ?? null)}${event === undefined ? '' : ',"stored_first":true'}}`;
    if (this.#headSent || (last !== undefined && last.length > WHOLE_BYTES_MAX)) {
      this.#sendHead();
      this.#out.end(`{${tail}`, last);
      if (this.#out.ended) this.#finish();
      else this.#out.drained().then(() => this.#finish());
      return;
    }
    const meta = `{${this.#deps.at},"head":${JSON.stringify(this.#replyHead ?? null)},${tail}`;
    this.#deps.publisher.publish(this.#deps.reply, encodeFrame(FRAME.whole, this.#out.nextSeq(), meta, last));
    this.#finish();
  }

  /** Ends the call with an error. Errors other than ServiceError are masked. */
  fail(error: unknown): void {
    if (this.#done) return;
    const meta = JSON.stringify(toWireError(error));
    this.#out.stop();
    this.#deps.publisher.publish(this.#deps.reply, encodeFrame(FRAME.error, this.#out.nextSeq(), meta));
    this.#finish();
  }

  received(frame: Frame): void {
    switch (frame.kind) {
      case FRAME.grant:
        return this.#out.grant(Number(frame.meta));
      case FRAME.cancel:
        return this.cancelled(frame.meta === '' ? undefined : readError(frame.meta));
      case FRAME.data:
      case FRAME.end:
        return this.#body?.received(frame);
    }
  }

  /** The caller went away, or gave up the call for `reason`. */
  cancelled(
    reason: ServiceError = new ServiceError('service_unavailable', 'The caller disconnected.'),
  ): void {
    if (this.#done) return;
    this.#cancelled = reason;
    this.#finish();
    this.#abort?.abort(reason);
    this.#onCancelled?.();
  }

  sweep(now: number): void {
    if (this.#spoke || this.#headSent || now - this.#takenAt < ACCEPT_AFTER_MS) return;
    this.#spoke = true;
    this.#publish(encodeFrame(FRAME.accept, 0, `{${this.#deps.at}}`));
  }

  #grant(bytes: number): void {
    this.#spoke = true;
    this.#publish(encodeFrame(FRAME.grant, 0, `{${this.#deps.at},"bytes":${bytes}}`));
  }

  #sendHead(): void {
    if (this.#headSent) return;
    this.#headSent = true;
    const meta = `{${this.#deps.at},"head":${JSON.stringify(this.#replyHead ?? null)}}`;
    this.#publish(encodeFrame(FRAME.head, this.#out.nextSeq(), meta));
  }

  #publish(frame: Buffer): void {
    this.#deps.publisher.publish(this.#deps.reply, frame);
  }

  #finish(): void {
    if (this.#done) return; // an end that waits for the caller comes after a cancellation
    this.#done = true;
    this.#out.stop();
    this.#body?.chunks.fail(this.#cancelled ?? over());
    this.#deps.closed();
  }
}

const over = () => new ServiceError('service_unavailable', 'The call has ended.');
