// Relays one model call between an HTTP client and the bus. Bytes pass through as they arrive, the client's pace
// becomes credit, a disconnect becomes a cancel, and every accepted call is settled in the journal.
import type { Bus, ByteSource, EventPublisher, OutgoingCall, ReplySink } from '@switchyard/bus';
import {
  errorShapeOf,
  eventIds,
  type ModelCallHead,
  modelReplyEnd,
  modelReplyHead,
  requestIdHeaders,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenRelays, Revocable } from '../auth/open-relays.ts';
import type { Spending } from '../auth/spending.ts';
import type { BookingGate } from '../backlog/booking-gate.ts';
import type { BodyChecker } from '../http/body-checker.ts';
import type { IntakeDeps } from '../http/body-intake.ts';
import { clientDisconnected, hasLeft } from '../http/request-over.ts';
import type { DeliveryJournal } from '../journal/delivery-journal.ts';
import { voidOf } from '../journal/open-journal.ts';
import type { Receipts } from '../receipts/receipts.ts';

export interface CallRelay {
  bus: Bus;
  /** Open calls by key; they end when their key is revoked or expires. */
  open: OpenRelays;
  events: EventPublisher;
  spending: Spending;
  journal: DeliveryJournal;
  receipts: Receipts;
  /** For routes that read their bodies themselves. */
  intake: IntakeDeps;
  bodies: BodyChecker;
  booking: Pick<BookingGate, 'admit'>;
  clock: Clock;
  logger: Logger;
}

interface RelayedCall {
  subject: string;
  head: ModelCallHead;
  body: Uint8Array | ByteSource;
}

/**
 * @throws ServiceError when the client left while its body was checked, or usage cannot be stored: nothing is called
 */
export function relayCall(
  relay: CallRelay,
  call: RelayedCall,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (hasLeft(request, reply)) throw clientDisconnected();
  relay.booking.admit();
  new Relay(relay, call.head, request, reply).start(call);
}

class Relay implements ReplySink, Revocable {
  readonly #deps: CallRelay;
  readonly #head: ModelCallHead;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  /** Removes the call from the open relays of its key. */
  #close: () => void = () => {};
  #call: OutgoingCall | null = null;
  #status = 200;
  #contentType = 'application/json';
  /** Known before the answer when the price does not depend on it. */
  #cost: string | null = null;
  #contentLength: number | null = null;
  #started = false;
  /** The end of a streamed answer was written; the client may still read. */
  #ended = false;
  #over = false;
  #unread = 0;

  constructor(deps: CallRelay, head: ModelCallHead, request: FastifyRequest, reply: FastifyReply) {
    this.#deps = deps;
    this.#head = head;
    this.#request = request;
    this.#reply = reply;
  }

  start({ subject, head, body }: RelayedCall): void {
    this.#deps.journal.taken(head.request_id, head.org);
    if (this.#request.apiKey) this.#close = this.#deps.open.add(this.#request.apiKey, this);
    if (this.#over) return; // the key ended while the body arrived or was checked
    this.#reply.raw.once('close', () => this.#clientGone());
    this.#call = this.#deps.bus.call({ subject, head, body }, this);
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
          ? { 'x-accel-buffering': 'no' }
          : { 'content-length': this.#contentLength }),
      });
    }
    if (raw.write(bytes)) return this.#call?.consumed(bytes.length);
    // The client reads slowly: written bytes count as consumed when its socket has room again.
    if (this.#unread === 0)
      raw.once('drain', () => {
        const consumed = this.#unread;
        this.#unread = 0;
        this.#call?.consumed(consumed);
      });
    this.#unread += bytes.length;
  }

  onEnd(end: unknown, last: Buffer): void {
    const { raw } = this.#reply;
    const { cost, tokens } = modelReplyEnd.parse(end);
    this.#request.admission?.used(tokens);
    const { request_id: requestId, org } = this.#head;
    const costHeader = this.#deps.receipts.stateCost(org, eventIds.call(requestId), cost);
    // A kept answer can be fetched again, so a kill before the client has it all must not take its charge back.
    this.#request.idempotent?.whenKept(() => this.#settle());
    if (this.#started) {
      this.#ended = true;
      raw.end(last, () => this.#settle());
    } else {
      this.#reply.hijack();
      raw.writeHead(this.#status, {
        ...this.#headers(),
        ...costHeader,
        'content-length': last.length,
      });
      raw.end(last, () => this.#settle());
    }
    // Bytes in the kernel's buffer reach the client even if this process dies, so settle at once, not in a later turn.
    if (raw.writableEnded && raw.writableLength === 0) this.#settle();
  }

  onError(error: ServiceError): void {
    if (this.#over) return; // the answer was delivered
    this.#over = true;
    this.#close();
    this.#request.admission?.used(0); // a failed call uses no tokens
    if (!error.logged) this.#void();
    else this.#deps.journal.settled(this.#head.request_id);
    this.#endWith(error);
  }

  /** The key was revoked or expired: ends the call and charges what was produced so far, as for a disconnect. */
  revoke(reason: ServiceError): void {
    if (this.#over) return;
    this.#settle();
    const logged = this.#call !== null; // a call that began is in Logs
    if (this.#call) this.#request.idempotent?.interrupted();
    this.#call?.cancel();
    this.#endWith(new ServiceError(reason.code, reason.message, { logged }));
  }

  #endWith(error: ServiceError): void {
    if (!this.#started) {
      this.#reply.send(error);
      return;
    }
    // The answer has begun: a stream ends with an error event and no [DONE]; any other answer, and the rest of a stream
    // that has ended, is cut off.
    const { raw } = this.#reply;
    if (!this.#ended && this.#contentType.startsWith('text/event-stream'))
      raw.end(errorShapeOf(this.#head.dialect).streamEnd(error, this.#head.request_id));
    else {
      if (!this.#ended) this.#request.idempotent?.cutOff();
      raw.destroy();
    }
  }

  #settle(): void {
    if (this.#over) return;
    this.#over = true;
    this.#deps.journal.settled(this.#head.request_id); // first: a kill before this note would refund the charge
    this.#close();
  }

  /** The caller gets no usable answer: takes back every charge for the call, made or still to come. */
  #void(): void {
    const { request_id: requestId, org } = this.#head;
    this.#deps.events
      .publish(voidOf(requestId, org, 'answer_lost', this.#deps.clock))
      .then(() => this.#deps.journal.settled(requestId))
      .catch((error: unknown) =>
        this.#deps.logger.error({ err: error, request: requestId }, 'a void could not be stored'),
      );
  }

  #clientGone(): void {
    if (this.#over || this.#request.idempotent?.outlivesClient) return;
    this.#settle(); // the charge for what the maker produced so far stands
    this.#call?.cancel();
  }

  #headers(): Record<string, string> {
    return { 'content-type': this.#contentType, ...requestIdHeaders(this.#request.id, this.#head.dialect) };
  }
}
