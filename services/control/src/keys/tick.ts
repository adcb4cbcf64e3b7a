// The tick of the buckets that others follow: one control writes it each second, so that they notice when their watches
// deliver nothing.
import { type Bucket, type Bus, holdLease, TICK_MS } from '@switchyard/bus';
import { type Logger, passed, systemClock } from '@switchyard/service';

interface Ticking {
  stop(): Promise<void>;
}

/** Ticks while this instance holds the lease, and competes for the lease otherwise. */
export function keepTicking(bus: Bus, buckets: Pick<Bucket<unknown>, 'tick'>[], logger: Logger): Ticking {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    while (!signal.aborted) {
      const turn = new AbortController();
      const lease = await holdLease({ bus, name: 'control-tick', onLost: () => turn.abort(), signal });
      const over = AbortSignal.any([turn.signal, signal]);
      while (!over.aborted) {
        // Not awaited: a write that hits a dying server fails only after seconds, and the next tick is due by then.
        for (const bucket of buckets)
          bucket
            .tick(bus.instance)
            .catch((error: unknown) => logger.debug({ err: error }, 'a tick was not written'));
        await passed(TICK_MS, systemClock, over);
      }
      await lease.release();
    }
  };
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error; // ends the process, which is restarted: control must tick
  });
  return {
    async stop() {
      stopping.abort(new Error('stopping'));
      await running;
    },
  };
}
