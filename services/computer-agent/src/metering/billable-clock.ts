// The clock by which computers are billed. It runs while this host is heard on the bus and stops after a minute of
// silence: unreachable computers are not billed.
import { HOST_SILENT_MS_MAX } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export class BillableClock {
  readonly #clock: Clock;
  #heardAt: number;
  #unbilledMs = 0;
  /** The last unbilled interval, by the monotonic clock. */
  #gap = { from: 0, to: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
  }

  /** The bus has received this host's heartbeat. */
  heard(): void {
    const now = this.#clock.monotonic();
    const silentFrom = this.#heardAt + HOST_SILENT_MS_MAX;
    if (now > silentFrom) {
      this.#unbilledMs += now - silentFrom;
      this.#gap = { from: silentFrom, to: now };
    }
    this.#heardAt = now;
  }

  /** Billable milliseconds since an arbitrary start; never decreases. */
  now(): number {
    return this.at(this.#clock.monotonic());
  }

  /**
   * Value of `now` at an earlier moment of the monotonic clock. Accurate back to the last gap but one; callers check
   * due times shortly afterwards.
   */
  at(monotonic: number): number {
    const { from, to } = this.#gap;
    const laterGapMs = to - Math.min(to, Math.max(from, monotonic));
    return Math.min(monotonic, this.#heardAt + HOST_SILENT_MS_MAX) - (this.#unbilledMs - laterGapMs);
  }
}
