// Publishes once per turn of the event loop: the messages of a turn leave in one write to the socket, which was worth
// a fifth of the CPU (shared measurements, docs/decisions/2026-11-21-frames-in-the-payload.md).
import { errors, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';

interface Pending {
  subject: string;
  payload: Uint8Array;
  reply: string | undefined;
  messageId: string | undefined;
}

export class TurnPublisher {
  readonly #nc: NatsConnection;
  readonly #beforeFlush: (() => void)[] = [];
  #pending: Pending[] = [];
  #scheduled = false;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** Runs before the messages of a turn leave: what must be on disk before they are seen. */
  onBeforeFlush(hook: () => void): void {
    this.#beforeFlush.push(hook);
  }

  /** Queues a message for the end of this turn. `messageId` becomes `Nats-Msg-Id`, JetStream's key for duplicates. */
  publish(subject: string, payload: Uint8Array, reply?: string, messageId?: string): void {
    this.#pending.push({ subject, payload, reply, messageId });
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
    if (this.#nc.isClosed()) return; // whoever waits for an answer is told by the sweep
    try {
      for (const message of messages) this.#send(message);
    } catch (error) {
      // Draining ends with a moment in which the connection is there and takes nothing more: as if it were closed.
      if (!(error instanceof errors.DrainingConnectionError)) throw error;
    }
  }

  #send({ subject, payload, reply, messageId }: Pending): void {
    this.#nc.publish(subject, payload, {
      ...(reply === undefined ? {} : { reply }),
      ...(messageId === undefined ? {} : { headers: messageIdHeader(messageId) }),
    });
  }
}

const ID_SAFE = /^[A-Za-z0-9_:.-]{1,200}$/;

/** A header block with one member, encoded by hand: the client only ever asks it to `encode` itself. */
function messageIdHeader(messageId: string): MsgHdrs {
  if (!ID_SAFE.test(messageId))
    throw new RangeError(`not safe as a message id: ${JSON.stringify(messageId)}`);
  const block = Buffer.from(`NATS/1.0\r\nNats-Msg-Id: ${messageId}\r\n\r\n`, 'latin1');
  return { encode: () => block } as unknown as MsgHdrs;
}
