// One model call between an HTTP client and the bus: bytes through as they come, the client's pace as credit, the
// client's going away as a cancel, and every call that is taken settled in the journal.
import type { Bus, ByteSource, EventPublisher, OutgoingCall, ReplySink } from '@switchyard/bus';
import {
  eventIds,
  type ModelCallHead,
  makeEvent,
  modelReplyEnd,
  modelReplyHead,
  ServiceError,
  toErrorBody,
} from '@switchyard/contracts';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenRelays, Revocable } from '../auth/open-relays.ts';
import type { Spending } from '../auth/spending.ts';
import { EVENT_SOURCE } from '../http/app.ts';
import { STALLED_CLIENT_MS_MAX } from '../http/limits.ts';
import type { DeliveryJournal } from '../journal/delivery-journal.ts';
import type { Receipts } from '../receipts/receipts.ts';

export interface CallRelay {
  bus: Bus;
  /** What is on under each key: a key that is revoked or expires ends it. */
  open: OpenRelays;
  events: EventPublisher;
  spending: Spending;
  journal: DeliveryJournal;
  receipts: Receipts;
  /** What large bodies take their memory from. */
  largeBodies: ByteBudget;
  clock: Clock;
  logger: Logger;
}

export interface RelayedCall {
  subject: string;
  head: ModelCallHead;
  body: Uint8Array | ByteSource;
}

export function relayCall(
  relay: CallRelay,
  call: RelayedCall,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  new Relay(relay, call.head, request, reply).start(call);
}

class Relay implements ReplySink, Revocable {
  readonly #on: CallRelay;
  readonly #head: ModelCallHead;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  /** Takes the call out of those that its key's end would end. */
  #close: () => void = () => {};
  #call: OutgoingCall | null = null;
  #status = 200;
  #contentType = 'application/json';
  /** Known before the answer where the price does not hang on it. */
  #cost: string | null = null;
  #contentLength: number | null = null;
  #started = false;
  #over = false;
  #unread = 0;
  /** Takes back the clock that runs while the client reads nothing. */
  #stopClock: (() => void) | null = null;

  constructor(on: CallRelay, head: ModelCallHead, request: FastifyRequest, reply: FastifyReply) {
    this.#on = on;
    this.#head = head;
    this.#request = request;
    this.#reply = reply;
  }

  start({ subject, head, body }: RelayedCall): void {
    this.#on.journal.taken(head.request_id, head.org);
    if (this.#request.apiKey) this.#close = this.#on.open.add(this.#request.apiKey, this);
    this.#reply.raw.once('close', () => {
      this.#stopClock?.();
      this.#clientGone();
    });
    this.#call = this.#on.bus.call({ subject, head, body }, this);
  }

  onHead(head: unknown): void {
    const { status, content_type, cost, content_length } = modelReplyHead.parse(head);
    this.#status = status;
    this.#contentType = content_type;
    this.#cost = cost ?? null;
    this.#contentLength = content_length ?? null;
  }

  onData(bytes: Buffer): void {
    const { raw } = this.#reply;
    if (!this.#started) {
      this.#started = true;
      this.#reply.hijack();
      raw.writeHead(this.#status, {
        ...this.#headers(),
        ...(this.#cost === null ? {} : { 'x-service-cost': this.#cost }),
        ...(this.#contentLength === null
          ? { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
          : { 'content-length': this.#contentLength }),
      });
    }
    if (raw.write(bytes)) return this.#call?.consumed(bytes.length);
    // The client reads slowly: what was written counts as consumed once its socket has room again.
    if (this.#unread === 0) {
      this.#startClock();
      raw.once('drain', () => {
        this.#stopClock?.();
        const consumed = this.#unread;
        this.#unread = 0;
        this.#call?.consumed(consumed);
      });
    }
    this.#unread += bytes.length;
  }

  onEnd(end: unknown, last: Buffer): void {
    const { raw } = this.#reply;
    const { cost } = modelReplyEnd.parse(end);
    const { request_id: requestId, org } = this.#head;
    this.#on.receipts.told(org, eventIds.call(requestId), cost);
    if (this.#started) raw.end(last, () => this.#settle());
    else {
      this.#reply.hijack();
      raw.writeHead(this.#status, {
        ...this.#headers(),
        'content-length': last.length,
        'x-service-cost': cost,
      });
      raw.end(last, () => this.#settle());
    }
    // What the kernel has, the client gets even if this process dies: at once, and not in a later turn of the loop.
    if (raw.writableEnded && raw.writableLength === 0) this.#settle();
    else this.#startClock();
  }

  onError(error: ServiceError): void {
    this.#over = true;
    this.#close();
    if (!error.logged) this.#void();
    else this.#on.journal.settled(this.#head.request_id);
    this.#endWith(error);
  }

  /** Its key holds no longer: the call ends here, and what was produced until now is charged, as if the client had gone. */
  revoke(reason: ServiceError): void {
    if (this.#over) return;
    this.#settle();
    this.#call?.cancel();
    this.#endWith(new ServiceError(reason.code, reason.message, { logged: true }));
  }

  #endWith(error: ServiceError): void {
    if (!this.#started) {
      this.#reply.send(error);
      return;
    }
    // The answer has begun: a stream ends with an error event and no [DONE]; anything else is cut, visibly.
    const { raw } = this.#reply;
    if (this.#contentType.startsWith('text/event-stream'))
      raw.end(`data: ${JSON.stringify(toErrorBody(error, this.#head.request_id))}\n\n`);
    else raw.destroy();
    if (raw.writableLength > 0) this.#startClock();
  }

  /** A client that keeps its socket and reads nothing would hold its call, and our shutdown, for ever. */
  #startClock(): void {
    this.#stopClock?.();
    this.#stopClock = this.#on.clock.after(STALLED_CLIENT_MS_MAX, () => this.#reply.raw.destroy());
  }

  #settle(): void {
    if (this.#over) return;
    this.#over = true;
    this.#on.journal.settled(this.#head.request_id); // before all else: until it is noted, a kill takes its charge back
    this.#close();
  }

  /** The caller gets no usable answer: whatever was or will be charged for it is taken back. */
  #void(): void {
    const { request_id: requestId, org } = this.#head;
    const time = new Date(this.#on.clock.now());
    const data = { request_id: requestId, org, reason: 'answer_lost' } as const;
    const event = makeEvent({
      name: 'call.voided',
      id: eventIds.voided(requestId),
      source: EVENT_SOURCE,
      time,
      data,
    });
    this.#on.events
      .publish(event)
      .then(() => this.#on.journal.settled(requestId))
      .catch((error: unknown) =>
        this.#on.logger.error({ err: error, request: requestId }, 'a void could not be kept'),
      );
  }

  #clientGone(): void {
    if (this.#over || this.#request.idempotent?.outlivesClient) return;
    this.#settle(); // the charge stands: what the maker produced until now
    this.#call?.cancel();
  }

  #headers(): Record<string, string> {
    return { 'content-type': this.#contentType, 'x-request-id': this.#request.id };
  }
}
