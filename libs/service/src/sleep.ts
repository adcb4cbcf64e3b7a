// Waits for time to pass, by a clock that tests can control.
import type { Clock } from './clock.ts';

/** Resolves after `ms` milliseconds, or at once when the signal is aborted. Never throws; leaves no timer behind. */
export function sleep(ms: number, clock: Pick<Clock, 'after'>, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener('abort', done);
    if (signal?.aborted) done();
  });
}
