// One call at its caller: sends the request under the service's credit, checks that no frame of the reply is missing,
// and holds back the end of an answer until its usage event is stored.

import { ServiceError, toWireError } from '@switchyard/contracts';
import { BodySource, type ByteSource } from './body-source.ts';
import { ByteSender } from './byte-sender.ts';
import { frameSubject, frameToAllSubject, isInstance, replySubject } from './call-subjects.ts';
import { encodeFrame, FRAME, type Frame, type OpenMeta, readError } from './frame.ts';
import {
  ACK_AGAIN_MS,
  ACK_WAIT_MS_MAX,
  FRAME_BYTES_MAX,
  INLINE_BODY_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  NOBODY_THERE_MS_MAX,
  NOBODY_THERE_PAUSE_MS,
  UNANSWERED_MS_MAX,
  WINDOW_BYTES,
} from './limits.ts';
import type { Peers } from './peers.ts';
import type { TurnPublisher } from './turn-publisher.ts';

/** Bytes that may wait for the sink. A service exceeds its credit by less than a frame. */
const UNREAD_BYTES_MAX = WINDOW_BYTES + FRAME_BYTES_MAX;

/**
 * Receives a reply. Exactly one of `onEnd` and `onError` is called, once, as the last call. When another one throws,
 * `onError` gets an `internal_error`; it must not throw itself.
 */
export interface ReplySink {
  onHead(head: unknown): void;
  /** A piece of the body. Call `consumed` after processing it; otherwise at most one window arrives. */
  onData(bytes: Buffer): void;
  onEnd(end: unknown, last: Buffer): void;
  onError(error: ServiceError): void;
}

export interface CallRequest {
  subject: string;
  /** JSON for the service: everything it needs besides the body. */
  head: unknown;
  /** Bytes, or a stream that is read at the service's pace and stopped with the call. */
  body?: Uint8Array | ByteSource;
  /** Milliseconds for the whole call; without it, the call may last as long as its service lives. */
  timeoutMs?: number;
}

interface ReplyMeta {
  /** The instance that serves the call. */
  at?: string;
  /** Number of that instance's connection. */
  link?: number;
  head?: unknown;
  end?: unknown;
  /** True when the end waits for the PubAck of its event. */
  stored_first?: true;
  bytes?: number;
}

interface HeldEnd {
  end: unknown;
  last: Buffer;
  since: number;
  /** When its event was published last, as far as this side knows. */
  publishedAt: number;
}

interface OutgoingCallDeps {
  publisher: TurnPublisher;
  peers: Peers;
  /** The user that serves the call. */
  callee: string;
  key: string;
  from: string;
  connected(): boolean;
  isBusClosed(): boolean;
  /** The call's usage event was stored. */
  stored(): void;
  /** The call's usage event could not be stored. */
  unstored(): void;
  closed(): void;
}

/** No instance took the call, so no work began. */
export class NobodyThere extends ServiceError {
  constructor(subject: string) {
    const message = `No service handles ${subject} at the moment. Retry later.`;
    super('service_unavailable', message, { retryAfterS: 1 });
  }
}

export class OutgoingCall {
  readonly #request: Omit<CallRequest, 'body'>;
  /** Until a service has it, or it is queued for it: a call may last for minutes. */
  #body: Uint8Array | null = null;
  readonly #sink: ReplySink;
  readonly #deps: OutgoingCallDeps;
  readonly #inbox: string;
  /** The call's name at the service. */
  readonly #name: string;
  readonly #openedAt = performance.now();
  #offeredAt = 0;
  /** Timer for the next offer while no instance takes the call. */
  #again: NodeJS.Timeout | undefined;
  #sent = false;
  #peer: string | null = null;
  #peerLink = 0;
  #expectedSeq = 0;
  #owed = 0;
  /** Bytes passed to `onData` that the sink has not processed. */
  #unread = 0;
  #upload: ByteSender | null = null;
  #source: BodySource | null = null;
  #acknowledged = false;
  /** The end frame, held back until the usage event's PubAck arrives. */
  #held: HeldEnd | null = null;
  #done = false;

  constructor(request: CallRequest, sink: ReplySink, deps: OutgoingCallDeps) {
    const { body, ...rest } = request;
    this.#request = rest;
    this.#sink = sink;
    this.#deps = deps;
    this.#name = `${deps.from}.${deps.key}`;
    this.#inbox = replySubject(deps.callee, deps.from, deps.key);
    if (body instanceof Uint8Array) this.#body = body;
    else if (body) this.#source = new BodySource(body, (error) => this.#sourceFailed(error));
  }

  /** Sends the head, and the body if it is short. Repeated until an instance takes the call. */
  offer(): void {
    if (this.#deps.isBusClosed()) return this.#fail(unconnected(), false); // waiting would keep the process running
    if (!this.#deps.connected()) return this.#offerSoon();
    const inline = isInline(this.#body) ? this.#body : undefined;
    const meta: OpenMeta = {
      from: this.#deps.from,
      link: this.#deps.peers.link,
      credit: WINDOW_BYTES,
      more: inline === undefined && (this.#body !== null || this.#source !== null),
      head: this.#request.head,
    };
    const frame = encodeFrame(FRAME.open, 0, JSON.stringify(meta), inline);
    if (frame.length > MESSAGE_BYTES_MAX) return this.#fail(headTooLarge(), false);
    this.#sent = true;
    this.#offeredAt = performance.now();
    this.#deps.publisher.publish(this.#request.subject, frame, this.#inbox);
  }

  /** Bytes passed to `onData` were processed. */
  consumed(bytes: number): void {
    this.#unread -= bytes;
    this.#owed += bytes;
    if (this.#owed < WINDOW_BYTES / 2 || this.#peer === null || this.#done) return;
    this.#toPeer(encodeFrame(FRAME.grant, 0, String(this.#owed)));
    this.#owed = 0;
  }

  /** The answer is not needed: notifies the service; the sink is not called again. */
  cancel(): void {
    if (this.#done) return;
    this.#finish();
    if (this.#sent) this.#tellCancelled();
  }

  /** A frame of the reply is unreadable, or its sink threw: ends this call alone. */
  broken(cause: unknown): void {
    const message = 'The answer could not be processed. Report the request id to the operator.';
    const error = new ServiceError('internal_error', message, { cause });
    if (!this.#done) return this.#fail(error, true);
    this.#sink.onError(error); // `onEnd` threw
  }

  received(frame: Frame): void {
    if (this.#done) return;
    if (frame.kind === FRAME.accept || frame.kind === FRAME.grant)
      return this.#bind(parseMeta(frame.meta), frame.kind);
    if (frame.seq !== this.#expectedSeq)
      return this.#fail(
        new ServiceError('service_unavailable', 'Part of the answer was lost. Retry later.'),
        true,
      );
    this.#expectedSeq += 1;
    if (this.#peer !== null) this.#deps.peers.heard(this.#peer);
    switch (frame.kind) {
      case FRAME.head: {
        const meta = parseMeta(frame.meta);
        this.#bind(meta, frame.kind);
        return this.#sink.onHead(meta.head);
      }
      case FRAME.data:
        this.#unread += frame.data.length;
        if (this.#unread > UNREAD_BYTES_MAX) return this.#fail(tooFast(), true);
        return this.#sink.onData(frame.data);
      case FRAME.whole: {
        const meta = parseMeta(frame.meta);
        if (isInstance(meta.at)) this.#peer ??= meta.at;
        this.#sink.onHead(meta.head);
        return this.#ended(meta, frame.data);
      }
      case FRAME.end:
        return this.#ended(parseMeta(frame.meta), frame.data);
      case FRAME.error:
        return this.#fail(readError(frame.meta), false);
      default:
        return this.#fail(new ServiceError('internal_error', `Unknown frame kind ${frame.kind}.`), true);
    }
  }

  /** The PubAck of the usage event, sent by the NATS server itself. Anything but an ack: the event is published again. */
  acknowledged(payload: Uint8Array): void {
    if (this.#done || !isPubAck(payload)) return;
    this.#acknowledged = true;
    this.#deps.stored();
    this.#release();
  }

  nobodyThere(): void {
    if (this.#done) return;
    this.#sent = false;
    this.#offerSoon();
  }

  #offerSoon(): void {
    this.#again = setTimeout(() => this.offer(), NOBODY_THERE_PAUSE_MS);
  }

  linkLost(): void {
    if (this.#sent) this.#fail(unconnected(), false);
  }

  stoodStill(now: number): void {
    this.#offeredAt = now;
  }

  sweep(now: number, inUse: Set<string>): void {
    if (this.#done) return;
    if (this.#peer !== null) inUse.add(this.#peer);
    const { timeoutMs } = this.#request;
    if (timeoutMs !== undefined && now - this.#openedAt > timeoutMs)
      return this.#fail(
        new ServiceError('service_unavailable', `No answer within ${timeoutMs} ms. Retry later.`),
        true,
      );
    if (!this.#sent) {
      if (now - this.#openedAt > NOBODY_THERE_MS_MAX)
        return this.#fail(new NobodyThere(this.#request.subject), false);
      return;
    }
    if (this.#held) return this.#sweepHeld(this.#held, now);
    const lost =
      this.#peer === null
        ? now - this.#offeredAt > UNANSWERED_MS_MAX
        : this.#deps.peers.isLost(this.#peer, this.#peerLink);
    if (lost)
      this.#fail(
        new ServiceError(
          'service_unavailable',
          'The service instance that handled the call stopped. Retry later.',
        ),
        true,
      );
  }

  #sweepHeld(held: HeldEnd, now: number): void {
    if (now - held.since > ACK_WAIT_MS_MAX) {
      this.#deps.unstored();
      const message = 'The usage could not be stored; the call is not charged. Retry later.';
      return this.#fail(new ServiceError('service_unavailable', message), false);
    }
    if (now - held.publishedAt < ACK_AGAIN_MS) return;
    held.publishedAt = now;
    this.#toPeer(encodeFrame(FRAME.again, 0));
  }

  #bind(meta: ReplyMeta, kind: number): void {
    if (isInstance(meta.at)) {
      this.#peer = meta.at;
      this.#peerLink = meta.link ?? 0;
      this.#deps.peers.heard(meta.at);
    }
    if (isInline(this.#body)) this.#body = null; // it came with the head
    if (kind !== FRAME.grant || meta.bytes === undefined) return;
    this.#upload ??= this.#beginUpload();
    this.#upload.grant(meta.bytes);
  }

  #beginUpload(): ByteSender {
    const upload = new ByteSender(0, (bytes) => this.#toPeer(bytes));
    if (this.#source) this.#source.sendTo(upload);
    else upload.end('', this.#body ?? undefined);
    this.#body = null;
    return upload;
  }

  /** A partial body is useless: reports the failure of the source to the service and to the sink. */
  #sourceFailed(cause: unknown): void {
    const error =
      cause instanceof ServiceError
        ? cause
        : new ServiceError('internal_error', 'The body of the request could not be read.', { cause });
    this.#fail(error, this.#sent);
  }

  #ended(meta: ReplyMeta, last: Buffer): void {
    if (meta.stored_first === undefined) {
      this.#finish();
      return this.#sink.onEnd(meta.end, last);
    }
    const now = performance.now();
    this.#held = { end: meta.end, last, since: now, publishedAt: now };
    this.#release();
  }

  #release(): void {
    if (!this.#held || !this.#acknowledged) return;
    const { end, last } = this.#held;
    this.#finish();
    this.#sink.onEnd(end, last);
  }

  #fail(error: ServiceError, tell: boolean): void {
    if (this.#done) return;
    this.#finish();
    if (tell) this.#tellCancelled(error);
    this.#sink.onError(error);
  }

  #finish(): void {
    this.#done = true;
    this.#body = null;
    clearTimeout(this.#again);
    this.#upload?.stop();
    this.#source?.stop();
    this.#deps.closed();
  }

  #tellCancelled(error?: ServiceError): void {
    const meta = error === undefined ? '' : JSON.stringify(toWireError(error));
    // Before its first frame the serving instance is unknown: notify all instances; only one knows the call.
    const subject =
      this.#peer === null
        ? frameToAllSubject(this.#deps.callee, this.#name)
        : frameSubject(this.#peer, this.#name);
    this.#deps.publisher.publish(subject, encodeFrame(FRAME.cancel, 0, meta));
  }

  #toPeer(frame: Buffer): void {
    if (this.#peer !== null) this.#deps.publisher.publish(frameSubject(this.#peer, this.#name), frame);
  }
}

/** Whether the body travels with the head. */
function isInline(body: Uint8Array | null): body is Uint8Array {
  return body !== null && body.length <= INLINE_BODY_BYTES_MAX;
}

function unconnected(): ServiceError {
  return new ServiceError('service_unavailable', 'The connection between services was lost. Retry later.');
}

/** JSON may be several times larger than what it was read from: six bytes for a control character. */
function headTooLarge(): ServiceError {
  return new ServiceError('body_too_large', 'The fields of the request are too large. Send less.');
}

/** A computer host may be in the hands of an attacker. */
function tooFast(): ServiceError {
  return new ServiceError('service_unavailable', 'The service sent more than it was asked for. Retry later.');
}

function parseMeta(meta: string): ReplyMeta {
  return meta === '' ? {} : (JSON.parse(meta) as ReplyMeta);
}

function isPubAck(payload: Uint8Array): boolean {
  if (payload.length === 0) return false;
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1');
  return text.includes('"seq"') && !text.includes('"error"');
}
