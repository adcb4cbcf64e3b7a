// An answer of server-sent events: its head, its events, and keep-alive comments while there are none.
import type { ServerResponse } from 'node:http';
import { type ErrorBody, toErrorBody } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { toServiceError } from './send-error.ts';

/** Proxies and clients close silent connections, most of them after 30 s or more. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

interface ServerEvent {
  readonly type: string;
}

export class EventStream<E extends ServerEvent> {
  readonly raw: ServerResponse;
  readonly #clock: Clock;
  readonly #requestId: string;
  #stopClock: () => void;

  /** Hijacks the answer and sends its head. */
  constructor(reply: FastifyReply, clock: Clock) {
    const { raw, request } = reply;
    this.raw = raw;
    this.#clock = clock;
    this.#requestId = request.id;
    reply.hijack();
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    this.#stopClock = this.#beatLater();
  }

  /** True when the client is connected and has read what was sent. */
  get hasRoom(): boolean {
    return !this.raw.destroyed && !this.raw.writableNeedDrain;
  }

  /** Returns false when the client must read first. Sends nothing to a disconnected client. */
  send(event: E, id?: string): boolean {
    return this.raw.destroyed || this.raw.write((id === undefined ? '' : `id: ${id}\n`) + encode(event));
  }

  /** Sends the last event, if there is one, and ends the answer. */
  end(event?: E | ({ type: 'error' } & ErrorBody)): void {
    this.#stopClock();
    if (!this.raw.destroyed) this.raw.end(event && encode(event));
  }

  /** Ends the answer with the error as its last event. */
  fail(thrown: unknown): void {
    const { error } = toErrorBody(toServiceError(thrown), this.#requestId);
    this.end({ type: 'error', error });
  }

  #beatLater(): () => void {
    return this.#clock.after(KEEP_ALIVE_MS, () => {
      if (this.raw.destroyed) return;
      if (this.raw.writableLength === 0) this.raw.write(KEEP_ALIVE); // else unsent data keeps the connection busy
      this.#stopClock = this.#beatLater();
    });
  }
}

function encode(event: ServerEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
