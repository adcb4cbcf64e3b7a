// Publishes once per turn of the event loop: all messages of a turn leave in one socket write, which saved a fifth of
// the CPU (docs/decisions/2026-11-21-frames-in-the-payload.md).
import { errors, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import type { EventStream } from '@switchyard/contracts';
import { EXPECTED_STREAM_HEADER } from './entry-headers.ts';

interface Pending {
  subject: string;
  payload: Uint8Array;
  reply: string | undefined;
  event: EventHeaders | undefined;
}

export interface EventHeaders {
  /** JetStream's key for duplicates. */
  id: string;
  stream: EventStream;
}

export class TurnPublisher {
  readonly #nc: NatsConnection;
  readonly #onFault: (error: unknown, subject: string) => void;
  readonly #beforeFlush: (() => void)[] = [];
  #pending: Pending[] = [];
  #scheduled = false;

  /** @param onFault gets the error of a message that cannot be sent, and is dropped */
  constructor(nc: NatsConnection, onFault: (error: unknown, subject: string) => void) {
    this.#nc = nc;
    this.#onFault = onFault;
  }

  /** Runs before the messages of a turn are sent, to write to disk what must be durable first. */
  onBeforeFlush(hook: () => void): void {
    this.#beforeFlush.push(hook);
  }

  /** Queues a message for the end of this turn. */
  publish(subject: string, payload: Uint8Array, reply?: string, event?: EventHeaders): void {
    this.#pending.push({ subject, payload, reply, event });
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#pending.length === 0) return;
    for (const hook of this.#beforeFlush) hook();
    const messages = this.#pending;
    this.#pending = [];
    if (this.#nc.isClosed()) return; // the sweep ends calls that wait for an answer
    for (const message of messages) {
      try {
        this.#send(message);
      } catch (error) {
        // At the end of draining, the connection exists but accepts nothing: treat it as closed.
        if (error instanceof errors.DrainingConnectionError) return;
        this.#onFault(error, message.subject);
      }
    }
  }

  #send({ subject, payload, reply, event }: Pending): void {
    this.#nc.publish(subject, payload, {
      ...(reply === undefined ? {} : { reply }),
      ...(event === undefined ? {} : { headers: eventHeaders(event) }),
    });
  }
}

const ID_SAFE = /^[A-Za-z0-9_:.-]{1,200}$/;

/** A header block, encoded by hand: the client only calls its `encode`. */
function eventHeaders({ id, stream }: EventHeaders): MsgHdrs {
  if (!ID_SAFE.test(id)) throw new RangeError(`not safe as a message id: ${JSON.stringify(id)}`);
  const block = Buffer.from(
    `NATS/1.0\r\nNats-Msg-Id: ${id}\r\n${EXPECTED_STREAM_HEADER}: ${stream}\r\n\r\n`,
    'latin1',
  );
  return { encode: () => block } as unknown as MsgHdrs;
}
