// The tick of the buckets that others follow: each control writes it each second, so that mirrors notice when their
// watches deliver nothing. Mirrors need any tick, so they stay fresh while one control lives.
import { type Bucket, type Bus, TICK_MS } from '@switchyard/bus';
import type { Logger } from '@switchyard/service';

/** Ticks at once and until the returned function is called. */
export function keepTicking(bus: Bus, buckets: Pick<Bucket<unknown>, 'tick'>[], logger: Logger): () => void {
  const tick = () => {
    // Not awaited: a write that hits a dying server fails only after seconds, and the next tick is due by then.
    for (const bucket of buckets)
      bucket
        .tick(bus.instance)
        .catch((error: unknown) => logger.debug({ err: error }, 'a tick was not written'));
  };
  tick();
  const timer = setInterval(tick, TICK_MS);
  return () => clearInterval(timer);
}
