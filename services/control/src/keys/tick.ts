// The tick of the buckets `keys` and `orgs`: written each second by one control, so that edges notice when they hear
// nothing.
import { type Bucket, type Bus, holdLease, TICK_KEY, TICK_MS } from '@switchyard/bus';
import type { Logger } from '@switchyard/service';

export interface Ticking {
  stop(): Promise<void>;
}

/** Ticks while this instance holds the lease, and tries for it while it does not. */
export function keepTicking(bus: Bus, buckets: Pick<Bucket<unknown>, 'kv'>[], logger: Logger): Ticking {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    while (!signal.aborted) {
      const turn = new AbortController();
      const lease = await holdLease({ bus, name: 'control-tick', onLost: () => turn.abort(), signal });
      while (!turn.signal.aborted && !signal.aborted) {
        // Not waited for: one that met a dying server answers only after seconds, and the next tick is due.
        for (const { kv } of buckets)
          kv.put(TICK_KEY, bus.instance).catch((error: unknown) =>
            logger.debug({ err: error }, 'a tick was not written'),
          );
        await pause(TICK_MS, [turn.signal, signal]);
      }
      await lease.release();
    }
  };
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error; // ends the process: a control that cannot tick is started anew
  });
  return {
    async stop() {
      stopping.abort(new Error('stopping'));
      await running;
    },
  };
}

function pause(ms: number, signals: AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  for (const signal of signals) signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
