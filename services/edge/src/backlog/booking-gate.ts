// Decides whether billable work may begin. While billing is down, its events wait in a stream that discards the oldest.
// New billable work is refused before an unbooked event could be discarded.
import { type Bus, unbookedShare } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat, showGauge } from '@switchyard/service';
import type { Registry } from 'prom-client';

export const MEASURE_EVERY_MS = 5_000;
/** Share of the stream. The rest is for work that has begun: running computers continue to be charged per minute. */
const UNBOOKED_SHARE_MAX = 0.5;
/** Seconds after which to retry: billing has to book first. */
const UNBOOKED_RETRY_AFTER_S = 30;
const UNSTORED_RETRY_AFTER_S = 1;

interface BookingGateOptions {
  readonly bus: Bus;
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class BookingGate {
  readonly #deps: BookingGateOptions;
  readonly #repeating: Repeating;
  #share = 0;

  private constructor(deps: BookingGateOptions) {
    this.#deps = deps;
    const { clock, logger } = deps;
    const failed = 'could not count the events that wait for billing; keeping the last count';
    this.#repeating = repeat({ everyMs: MEASURE_EVERY_MS, clock, logger, failed }, () =>
      this.#measureShare(),
    );
  }

  /** Resolves after the first check, successful or not. */
  static async start(deps: BookingGateOptions): Promise<BookingGate> {
    const gate = new BookingGate(deps);
    await gate.#measureShare().catch((error: unknown) => {
      deps.logger.warn({ err: error }, 'could not count the events that wait for billing yet');
    });
    const help = `Share of the event stream that waits for billing; from ${UNBOOKED_SHARE_MAX} on billable work is refused`;
    showGauge(deps.metrics, 'switchyard_edge_unbooked_share', help, () => gate.#share);
    return gate;
  }

  /**
   * Checks a request that may yet be refused, or that stores no usage itself.
   * @throws ServiceError `service_unavailable`: work that begins now might never be charged
   */
  check(): void {
    if (!this.#deps.bus.admitsBillable)
      throw new ServiceError(
        'service_unavailable',
        'Usage cannot be stored at the moment; nothing was charged. Retry later.',
        {
          retryAfterS: UNSTORED_RETRY_AFTER_S,
        },
      );
    if (this.#share >= UNBOOKED_SHARE_MAX)
      throw new ServiceError(
        'service_unavailable',
        'Too many charges wait for billing. Retry later; nothing was charged.',
        { retryAfterS: UNBOOKED_RETRY_AFTER_S },
      );
  }

  /** Admits a model call; call it once. While usage cannot be stored, admits one call at a time. @throws as `check` */
  admit(): void {
    this.check();
    this.#deps.bus.admitBillable();
  }

  stop(): Promise<void> {
    return this.#repeating.stop();
  }

  async #measureShare(): Promise<void> {
    const { bus, clock, logger } = this.#deps;
    const before = this.#share;
    this.#share = await unbookedShare(bus, clock.now());
    const [wasShut, isShut] = [before, this.#share].map((share) => share >= UNBOOKED_SHARE_MAX);
    if (isShut && !wasShut)
      logger.error(
        { alarm: 'events_not_booked', share: this.#share },
        'too many events wait for billing: billable work is refused until billing catches up',
      );
    else if (wasShut && !isShut) logger.info({ share: this.#share }, 'billable work is accepted again');
  }
}
