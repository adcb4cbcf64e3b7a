// Events of calls that have just ended. A caller that gets no PubAck asks for its event to be published again: only the
// service that made an event may publish it.
import { ACK_WAIT_MS_MAX, RECENT_EVENTS_MAX } from './limits.ts';
import type { EventHeaders } from './turn-publisher.ts';

export interface RecentEvent {
  readonly subject: string;
  readonly payload: Buffer;
  /** Where its PubAck goes. */
  readonly reply: string;
  readonly headers: EventHeaders;
}

export class RecentEvents {
  readonly #events = new Map<string, RecentEvent & { readonly keptAt: number }>();

  /** Call it when the call has ended. Beyond RECENT_EVENTS_MAX the oldest is dropped: its call fails and is not charged. */
  keep(call: string, event: RecentEvent): void {
    if (this.#events.size === RECENT_EVENTS_MAX) {
      const [oldest] = this.#events.keys();
      this.#events.delete(oldest!);
    }
    this.#events.set(call, { ...event, keptAt: performance.now() });
  }

  get(call: string): RecentEvent | undefined {
    return this.#events.get(call);
  }

  /** Drops events whose callers have given up. */
  sweep(now: number): void {
    for (const [call, { keptAt }] of this.#events) {
      if (now - keptAt < ACK_WAIT_MS_MAX) return; // the others are younger
      this.#events.delete(call);
    }
  }
}
