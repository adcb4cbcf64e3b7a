// Reads of sums that must be complete, such as budgets and closed months: between two batches, and only while the sums
// include every ledger row. After a crash the next owner recovers the sums first.
import { ServiceError } from '@switchyard/contracts';
import type { Clock, Lock } from '@switchyard/service';
import { CATCH_UP_MS_MAX } from './catch-up.ts';
import type { Progress } from './progress.ts';

interface WhenComplete {
  readonly accounts: { readonly lock: Lock };
  readonly progress: Progress;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * @throws ServiceError `service_unavailable` when the sums are not whole within `CATCH_UP_MS_MAX`; the errors of `read`
 */
export async function whenComplete<T>(deps: WhenComplete, read: () => Promise<T>): Promise<T> {
  const { accounts, progress, clock } = deps;
  const deadline = clock.monotonic() + CATCH_UP_MS_MAX;
  for (;;) {
    const found = await accounts.lock.run(async () => (progress.complete ? { value: await read() } : null));
    if (found) return found.value;
    await untilComplete(deps, deadline);
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
    if (leftMs <= 0)
      throw new ServiceError('service_unavailable', 'the sums of the ledger are being recovered', {
        retryAfterS: 1,
      });
    await progress.changed(leftMs);
  }
}
