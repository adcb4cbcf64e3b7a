// Which other instances are alive, for those that we have calls with. Instances beat their heart, not calls.
//
// A peer's connection may be lost and made anew within one beat (a slow consumer that the server cut off, one server of
// a cluster that went away) while ours stays: what was on the way is gone, and silence does not show it. So each
// instance counts its connections, says the count with its beats and with its calls, and a count that has moved on ends
// the calls of the connections before it.
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { HEARTBEAT_MS, PEER_FORGET_MS, PEER_SILENT_MS_MAX } from './limits.ts';

interface Peer {
  heardAt: number;
  usedAt: number;
  /** The latest count of its connections that it has said. */
  link: number;
  subscription: Subscription;
}

const beatSubject = (instance: string) => `_HB.${instance}`;

export class Peers {
  readonly #nc: NatsConnection;
  readonly #instance: string;
  readonly #peers = new Map<string, Peer>();
  #link = 0;
  #beatAt = 0;

  constructor(nc: NatsConnection, instance: string) {
    this.#nc = nc;
    this.#instance = instance;
  }

  /** Which of our connections this is, counted from 0. */
  get link(): number {
    return this.#link;
  }

  /** Our connection is a new one: peers are told with the next sweep. */
  reconnected(): void {
    this.#link += 1;
    this.#beatAt = 0;
  }

  /** A frame of this peer came, or a call with it began: it lives, and is listened to from now on. */
  heard(instance: string, link = 0): void {
    const now = performance.now();
    const known = this.#peers.get(instance);
    if (known) {
      known.heardAt = now;
      known.usedAt = now;
      known.link = Math.max(known.link, link);
      return;
    }
    const peer: Peer = {
      heardAt: now,
      usedAt: now,
      link,
      subscription: this.#nc.subscribe(beatSubject(instance), {
        callback: (error, message) => {
          if (error) return;
          peer.heardAt = performance.now();
          peer.link = Math.max(peer.link, readLink(message.data));
        },
      }),
    };
    this.#peers.set(instance, peer);
  }

  /** Whether a call with this peer, begun over its connection `link`, can have no end any more. */
  isLost(instance: string, link: number): boolean {
    const peer = this.#peers.get(instance);
    if (peer === undefined) return false;
    return peer.link > link || performance.now() - peer.heardAt > PEER_SILENT_MS_MAX;
  }

  /** This process heard nobody for a while, whoever spoke: nobody's silence counts before now. */
  stoodStill(now: number): void {
    for (const peer of this.#peers.values()) peer.heardAt = now;
  }

  /** Beats our own heart when it is time; `inUse` are the peers that still have calls with us. */
  sweep(inUse: ReadonlySet<string>): void {
    const now = performance.now();
    for (const [instance, peer] of this.#peers) {
      if (inUse.has(instance)) peer.usedAt = now;
      else if (now - peer.usedAt > PEER_FORGET_MS) {
        peer.subscription.unsubscribe();
        this.#peers.delete(instance);
      }
    }
    if (now - this.#beatAt < HEARTBEAT_MS || this.#nc.isClosed()) return;
    this.#beatAt = now;
    this.#nc.publish(beatSubject(this.#instance), String(this.#link));
  }
}

function readLink(beat: Uint8Array): number {
  return Number(Buffer.from(beat.buffer, beat.byteOffset, beat.length).toString('latin1')) || 0;
}
