// The calling side: opens calls, receives their replies on one wildcard inbox, and ends the calls of dead peers.

import { randomUUID } from 'node:crypto';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { calleeOf, callOfReply, repliesTo } from './call-subjects.ts';
import { decodeFrame } from './frame.ts';
import { type CallRequest, OutgoingCall, type ReplySink } from './outgoing-call.ts';
import type { Peers } from './peers.ts';
import type { StoreGate } from './store-gate.ts';
import type { TurnPublisher } from './turn-publisher.ts';

const ACK_SUFFIX = '.a';

export class Caller {
  readonly #nc: NatsConnection;
  readonly #publisher: TurnPublisher;
  readonly #peers: Peers;
  readonly #gate: StoreGate;
  readonly #instance: string;
  readonly #calls = new Map<string, OutgoingCall>();

  constructor(
    nc: NatsConnection,
    publisher: TurnPublisher,
    peers: Peers,
    gate: StoreGate,
    instance: string,
    onFault: (error: unknown, subject: string) => void,
  ) {
    this.#gate = gate;
    this.#nc = nc;
    this.#publisher = publisher;
    this.#peers = peers;
    this.#instance = instance;
    const keyAt = instance.length + 1;
    nc.subscribe(repliesTo(instance), {
      callback: (error, message) => {
        if (error) return;
        const tail = callOfReply(message.subject).slice(keyAt);
        const isAck = tail.endsWith(ACK_SUFFIX);
        const call = this.#calls.get(isAck ? tail.slice(0, -ACK_SUFFIX.length) : tail);
        if (!call) return; // the call has already ended
        // The connection reads nothing more once a callback throws.
        try {
          if (isAck) call.acknowledged(message.data);
          else receive(call, message);
        } catch (thrown) {
          onFault(thrown, message.subject);
          call.broken(thrown);
        }
      },
    });
  }

  get size(): number {
    return this.#calls.size;
  }

  open(request: CallRequest, sink: ReplySink): OutgoingCall {
    const key = randomUUID();
    const call = new OutgoingCall(request, sink, {
      publisher: this.#publisher,
      peers: this.#peers,
      callee: calleeOf(request.subject),
      key,
      from: this.#instance,
      connected: () => this.#online,
      isBusClosed: () => this.#nc.isClosed(),
      stored: () => this.#gate.stored(),
      unstored: () => this.#gate.shut(),
      closed: () => this.#calls.delete(key),
    });
    this.#calls.set(key, call);
    call.offer();
    return call;
  }

  #online = true;

  // The connection lost its frames in flight, so delivery of sent frames is unknown.
  disconnected(): void {
    this.#online = false;
    for (const call of [...this.#calls.values()]) call.linkLost();
  }

  reconnected(): void {
    this.#online = true;
  }

  // This process was paused and received nothing: restart the deadline for the first frame.
  stoodStill(now: number): void {
    for (const call of this.#calls.values()) call.stoodStill(now);
  }

  sweep(now: number, inUse: Set<string>): void {
    for (const call of [...this.#calls.values()]) call.sweep(now, inUse);
  }
}

function receive(call: OutgoingCall, { data, headers }: Msg): void {
  if (data.length === 0 && headers?.code === 503) return call.nobodyThere();
  const frame = decodeFrame(data);
  if (frame) call.received(frame);
}
