// Which other instances are alive, for those that we have calls with. Instances beat their heart, not calls.
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { HEARTBEAT_MS, PEER_FORGET_MS, PEER_SILENT_MS_MAX, SWEEP_LATE_MS } from './limits.ts';

interface Peer {
  heardAt: number;
  usedAt: number;
  subscription: Subscription;
}

const beatSubject = (instance: string) => `_HB.${instance}`;
const BEAT = new Uint8Array(0);

export class Peers {
  readonly #nc: NatsConnection;
  readonly #instance: string;
  readonly #peers = new Map<string, Peer>();
  #beatAt = 0;
  #sweptAt = performance.now();

  constructor(nc: NatsConnection, instance: string) {
    this.#nc = nc;
    this.#instance = instance;
  }

  /** A frame of this peer came, or a call with it began: it lives, and is listened to from now on. */
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
      subscription: this.#nc.subscribe(beatSubject(instance), {
        callback: () => {
          peer.heardAt = performance.now();
        },
      }),
    };
    this.#peers.set(instance, peer);
  }

  isSilent(instance: string): boolean {
    const peer = this.#peers.get(instance);
    return peer !== undefined && performance.now() - peer.heardAt > PEER_SILENT_MS_MAX;
  }

  /** Beats our own heart when it is time; `inUse` are the peers that still have calls with us. */
  sweep(inUse: ReadonlySet<string>): void {
    const now = performance.now();
    const late = now - this.#sweptAt > SWEEP_LATE_MS;
    this.#sweptAt = now;
    for (const [instance, peer] of this.#peers) {
      if (late) peer.heardAt = now; // it was this process that stood still
      if (inUse.has(instance)) peer.usedAt = now;
      else if (now - peer.usedAt > PEER_FORGET_MS) {
        peer.subscription.unsubscribe();
        this.#peers.delete(instance);
      }
    }
    if (now - this.#beatAt < HEARTBEAT_MS || this.#nc.isClosed()) return;
    this.#beatAt = now;
    this.#nc.publish(beatSubject(this.#instance), BEAT);
  }
}
