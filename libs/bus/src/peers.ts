// Tracks which other instances are alive, among those that share calls with this one. Heartbeats are per instance, not
// per call.
//
// A peer may lose and re-establish its connection within one heartbeat (a slow consumer cut off by the server, a lost
// cluster member) while ours stays: frames in flight are lost, and silence does not show it. So each instance counts
// its connections and sends the count with its heartbeats and calls. A higher count in a heartbeat ends the calls of
// earlier connections. Calls do not count for that: nats-server checks the sender of heartbeats only.
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { beatSubject, FROM_PUBLISHER } from './call-subjects.ts';
import { HEARTBEAT_MS, PEER_FORGET_MS, PEER_SILENT_MS_MAX } from './limits.ts';

interface Peer {
  heardAt: number;
  usedAt: number;
  /** The latest connection count that the peer sent. */
  link: number;
  subscription: Subscription;
}

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

  /** Number of our current connection, counted from 0. */
  get link(): number {
    return this.#link;
  }

  /** Our connection is new: the next sweep notifies the peers. */
  reconnected(): void {
    this.#link += 1;
    this.#beatAt = 0;
  }

  /** A frame of this peer arrived, or a call with it began: it is alive, and its heartbeat is subscribed to. */
  heard(instance: string): void {
    const now = performance.now();
    const known = this.#peers.get(instance);
    if (known) {
      known.heardAt = now;
      known.usedAt = now;
      return;
    }
    const peer: Peer = {
      heardAt: now,
      usedAt: now,
      link: 0,
      subscription: this.#nc.subscribe(beatSubject(instance), {
        callback: (error, message) => {
          if (error || message.reply !== FROM_PUBLISHER) return;
          peer.heardAt = performance.now();
          peer.link = Math.max(peer.link, readLink(message.data));
        },
      }),
    };
    this.#peers.set(instance, peer);
  }

  /** Whether a call with this peer, begun over its connection `link`, can no longer complete. */
  isLost(instance: string, link: number): boolean {
    const peer = this.#peers.get(instance);
    if (peer === undefined) return false;
    return peer.link > link || performance.now() - peer.heardAt > PEER_SILENT_MS_MAX;
  }

  /** This process was paused and received nothing: silence counts only from now on. */
  stoodStill(now: number): void {
    for (const peer of this.#peers.values()) peer.heardAt = now;
  }

  /** Sends our heartbeat when it is due; `inUse` are the peers that still have calls with us. */
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
    this.#nc.publish(beatSubject(this.#instance), String(this.#link), { reply: FROM_PUBLISHER });
  }
}

function readLink(beat: Uint8Array): number {
  return Number(Buffer.from(beat.buffer, beat.byteOffset, beat.length).toString('latin1')) || 0;
}
