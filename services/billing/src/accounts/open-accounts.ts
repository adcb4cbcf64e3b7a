// The accounts of the instance that owns the partition. They open when billing has caught up with the stream and every
// router has renewed its holds. They are swept during the ownership and close with it.
import { HOLD_RENEW_MS } from '@switchyard/contracts';
import { catchUp } from '../catch-up.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { namesEver } from '../partitions/partition.ts';
import { Accounts } from './accounts.ts';
import type { AccountRecords } from './records.ts';

/** One renewal interval of the routers, plus the time of delivery. */
const LEARN_MS = HOLD_RENEW_MS + 500;
const SWEEP_MS = 1_000;
/** Time between two checks whether the ownership has ended while the sums are recovered. */
const RECHECK_MS = 500;

interface OpenAccountsDeps
  extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'progress' | 'clock' | 'logger'> {
  readonly records: Pick<AccountRecords, 'orgRecord' | 'keyRecord' | 'keysCaughtUp'>;
}

interface OpenedAccounts {
  readonly accounts: Accounts;
  /** Admits calls once all earlier spending and holds are known. */
  admit(signal: AbortSignal): Promise<void>;
  close(): void;
}

export function openAccounts(deps: OpenAccountsDeps): OpenedAccounts {
  const { store, partition, records, progress, clock, logger } = deps;
  const accounts = new Accounts({
    ...{ store, progress, clock, records },
    partitions: namesEver(partition.layout),
  });
  const sweeping = setInterval(() => {
    const { lostCalls, lostEvents } = accounts.desk.sweep();
    if (lostCalls.length > 0) logger.warn({ calls: lostCalls }, 'holds of a router that is gone have ended');
    if (lostEvents.length > 0)
      logger.error(
        { alarm: 'settled_not_booked', events: lostEvents },
        'calls were settled and their events never came',
      );
  }, SWEEP_MS);
  return {
    accounts,
    async admit(signal) {
      // Renewals need budgets, and no budget can be read before the sums are whole.
      while (!progress.complete && !signal.aborted) await progress.changed(RECHECK_MS);
      const learnt = new Promise<void>((resolve) => {
        clock.after(LEARN_MS, resolve);
      });
      for (let asked = clock.now(); !signal.aborted; asked = clock.now())
        if ((await catchUp(deps)).getTime() >= asked) break;
      await learnt;
      if (!signal.aborted) accounts.desk.open();
    },
    close() {
      clearInterval(sweeping);
      accounts.desk.close();
    },
  };
}
