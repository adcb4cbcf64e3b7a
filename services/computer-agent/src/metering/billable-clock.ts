// The clock by which computers are billed. It runs while this host is heard on the bus and stands still once it has
// been silent for a minute: nobody can use a computer that nobody can reach, so nobody pays for it.
import { HOST_SILENT_MS_MAX } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export class BillableClock {
  readonly #clock: Clock;
  #heardAt: number;
  #unbilledMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
  }

  /** The bus has this host's heartbeat. */
  heard(): void {
    const now = this.#clock.monotonic();
    this.#unbilledMs += Math.max(0, now - this.#heardAt - HOST_SILENT_MS_MAX);
    this.#heardAt = now;
  }

  /** Milliseconds that may be billed, from a beginning of its own; it never goes back. */
  now(): number {
    return Math.min(this.#clock.monotonic(), this.#heardAt + HOST_SILENT_MS_MAX) - this.#unbilledMs;
  }
}
