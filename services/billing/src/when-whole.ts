// Reading sums that must miss nothing, as those of a budget or of a closed month: between two batches, and only while every
// row of the ledger is in them. After a crash between a row and its sums, that is when the next owner has recovered.
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { StillPoint } from './accounts/still-point.ts';
import { CATCH_UP_MS_MAX } from './catch-up.ts';
import type { Progress } from './progress.ts';

export interface WhenWhole {
  readonly accounts: { readonly still: StillPoint };
  readonly progress: Progress;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** @throws ServiceError `service_unavailable` when the sums are not whole within `CATCH_UP_MS_MAX`; what `read` throws */
export async function whenWhole<T>(
  { accounts, progress, clock }: WhenWhole,
  read: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonic() + CATCH_UP_MS_MAX;
  for (;;) {
    const found = await accounts.still.run(async () => (progress.whole ? { value: await read() } : null));
    if (found) return found.value;
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0)
      throw new ServiceError('service_unavailable', 'the sums of the ledger are being recovered', {
        retryAfterS: 1,
      });
    await progress.changed(leftMs);
  }
}
