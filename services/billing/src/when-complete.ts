// Reads of sums that must be complete, such as budgets and closed months: between two batches, and only while the sums
// include every ledger row. After a crash the next owner recovers the sums first.
import { ServiceError } from '@switchyard/contracts';
import type { Clock, Lock } from '@switchyard/service';
import { CATCH_UP_MS_MAX } from './catch-up.ts';
import type { Progress } from './progress.ts';

/**
 * Time limit of an answer in milliseconds, including all waits: well below the timeout of callers. A read that begins
 * later only keeps others waiting.
 */
export const CALLER_MS_MAX = 12_000;

interface WhenComplete {
  readonly accounts: { readonly lock: Lock };
  readonly progress: Progress;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * @throws ServiceError `service_unavailable` when the sums are not whole within `CATCH_UP_MS_MAX`, or batches and other
 * reads take `CALLER_MS_MAX`; the errors of `read`
 */
export async function whenComplete<T>(deps: WhenComplete, read: () => Promise<T>): Promise<T> {
  const { accounts, progress, clock } = deps;
  const asked = clock.monotonic();
  for (;;) {
    const found = await accounts.lock.run(async () => {
      if (clock.monotonic() - asked >= CALLER_MS_MAX) throw unavailable('The ledger is busy. Retry later.');
      return progress.complete ? { value: await read() } : null;
    });
    if (found) return found.value;
    await untilComplete(deps, asked + CATCH_UP_MS_MAX);
  }
}

/**
 * For reads that take too long to keep batches waiting.
 * @throws ServiceError `service_unavailable` as `whenComplete`
 */
export async function untilComplete(
  { progress, clock }: Omit<WhenComplete, 'accounts'>,
  deadline = clock.monotonic() + CATCH_UP_MS_MAX,
): Promise<void> {
  while (!progress.complete) {
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) throw unavailable('The ledger cannot be read at the moment. Retry later.');
    await progress.changed(leftMs);
  }
}

function unavailable(message: string): ServiceError {
  return new ServiceError('service_unavailable', message, { retryAfterS: 1 });
}
