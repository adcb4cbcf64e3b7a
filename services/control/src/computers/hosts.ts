// The computer hosts as known from their heartbeats. The age of a heartbeat is the time since it arrived: the clock of
// a host may be wrong.
import type { Mirror } from '@switchyard/bus';
import { HOST_SILENT_MS_MAX, type HostHeartbeat } from '@switchyard/contracts';
import { type Clock, sleep } from '@switchyard/service';

/** A host gets new computers only while its last heartbeat (one per second) is no older than this. */
export const HOST_FRESH_MS_MAX = 5_000;
/** How long a creation waits for the next heartbeat of a host when no host is fresh. */
export const HEARTBEAT_WAIT_MS_MAX = 10_000;

type Heartbeats = Pick<Mirror<HostHeartbeat>, 'entries' | 'ageMs' | 'onChange'>;

export class Hosts {
  readonly #heartbeats: Heartbeats;
  readonly #clock: Pick<Clock, 'after'>;

  constructor(heartbeats: Heartbeats, clock: Pick<Clock, 'after'>) {
    this.#heartbeats = heartbeats;
    this.#clock = clock;
  }

  /** True when the host missed heartbeats for so long that its computers are unreachable and not billed. */
  isSilent(hostId: string): boolean {
    return this.#heartbeats.ageMs(hostId) > HOST_SILENT_MS_MAX;
  }

  /**
   * Hosts with a recent heartbeat, without cordoned ones. When there is none, waits for a host whose heartbeat is only
   * late.
   */
  async placeable(signal: AbortSignal): Promise<HostHeartbeat[]> {
    const fresh = this.#heardWithin(HOST_FRESH_MS_MAX);
    if (fresh.length > 0 || this.#heardWithin(HOST_SILENT_MS_MAX).length === 0) return fresh;
    const heard = new AbortController();
    const stop = this.#heartbeats.onChange(() => {
      if (this.#heardWithin(HOST_FRESH_MS_MAX).length > 0) heard.abort();
    });
    await sleep(HEARTBEAT_WAIT_MS_MAX, this.#clock, AbortSignal.any([signal, heard.signal]));
    stop();
    return this.#heardWithin(HOST_FRESH_MS_MAX);
  }

  #heardWithin(ms: number): HostHeartbeat[] {
    return this.#heartbeats
      .entries()
      .filter(({ key, value }) => value.id === key) // a host writes its own key, and may name another in it
      .map(({ value }) => value)
      .filter((beat) => !beat.cordoned && this.#heartbeats.ageMs(beat.id) <= ms);
  }
}
