// The clock by which computers are billed. It runs while this host is heard on the bus and stands still once it has
// been silent for a minute: nobody can use a computer that nobody can reach, so nobody pays for it.
import { HOST_SILENT_MS_MAX } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export class BillableClock {
  readonly #clock: Clock;
  #heardAt: number;
  #unbilledMs = 0;
  /** The last stretch that is not billed, by the monotonic clock. */
  #gap = { from: 0, to: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
  }

  /** The bus has this host's heartbeat. */
  heard(): void {
    const now = this.#clock.monotonic();
    const silentFrom = this.#heardAt + HOST_SILENT_MS_MAX;
    if (now > silentFrom) {
      this.#unbilledMs += now - silentFrom;
      this.#gap = { from: silentFrom, to: now };
    }
    this.#heardAt = now;
  }

  /** Milliseconds that may be billed, from a beginning of its own; it never goes back. */
  now(): number {
    return this.at(this.#clock.monotonic());
  }

  /**
   * What `now` was, or would have been, at a moment of the monotonic clock: none before the last gap but one. What was due
   * then is looked at a little later, and perhaps not before the host was heard again.
   */
  at(monotonic: number): number {
    const { from, to } = this.#gap;
    const laterGapMs = to - Math.min(to, Math.max(from, monotonic));
    return Math.min(monotonic, this.#heardAt + HOST_SILENT_MS_MAX) - (this.#unbilledMs - laterGapMs);
  }
}
