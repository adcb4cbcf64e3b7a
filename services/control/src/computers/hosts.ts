// The computer hosts as known from their heartbeats. The age of a heartbeat is the time since it arrived: the clock of
// a host may be wrong.
import type { Mirror } from '@switchyard/bus';
import { HOST_SILENT_MS_MAX, type HostHeartbeat } from '@switchyard/contracts';

/** A host gets new computers only while its last heartbeat (one per second) is no older than this. */
export const HOST_FRESH_MS_MAX = 5_000;

export class Hosts {
  readonly #heartbeats: Pick<Mirror<HostHeartbeat>, 'entries' | 'ageMs'>;

  constructor(heartbeats: Pick<Mirror<HostHeartbeat>, 'entries' | 'ageMs'>) {
    this.#heartbeats = heartbeats;
  }

  /** True when the host missed heartbeats for so long that its computers are unreachable and not billed. */
  isSilent(hostId: string): boolean {
    return this.#heartbeats.ageMs(hostId) > HOST_SILENT_MS_MAX;
  }

  /** Hosts with a recent heartbeat, without cordoned ones. */
  placeable(): HostHeartbeat[] {
    return this.#heartbeats
      .entries()
      .filter(([host, beat]) => beat.id === host) // a host writes its own key, and may name another in it
      .map(([, beat]) => beat)
      .filter((beat) => !beat.cordoned && this.#heartbeats.ageMs(beat.id) <= HOST_FRESH_MS_MAX);
  }
}
