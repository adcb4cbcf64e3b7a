// The computer hosts as known from their heartbeats.
import { type HostHeartbeat, isHostSilent } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

/** A host gets new computers only while its last heartbeat (one per second) is no older than this. */
export const HOST_FRESH_MS_MAX = 5_000;

export class Hosts {
  readonly #heartbeats: { entries(): [string, HostHeartbeat][] };
  readonly #clock: Clock;

  constructor(heartbeats: { entries(): [string, HostHeartbeat][] }, clock: Clock) {
    this.#heartbeats = heartbeats;
    this.#clock = clock;
  }

  /** True when the host missed heartbeats for so long that its computers are unreachable and not billed. */
  isSilent(hostId: string): boolean {
    const [, beat] = this.#heartbeats.entries().find(([id]) => id === hostId) ?? [];
    return isHostSilent(beat ?? null, this.#clock.now());
  }

  /** Hosts with a recent heartbeat, without cordoned ones. */
  placeable(): HostHeartbeat[] {
    return this.#heartbeats
      .entries()
      .filter(([host, beat]) => beat.id === host) // a host writes its own key, and may name another in it
      .map(([, beat]) => beat)
      .filter((beat) => !beat.cordoned && this.#ageMs(beat) <= HOST_FRESH_MS_MAX);
  }

  #ageMs(beat: HostHeartbeat): number {
    return this.#clock.now() - Date.parse(beat.at);
  }
}
