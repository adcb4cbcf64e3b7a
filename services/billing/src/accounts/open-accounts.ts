// The accounts of the instance that owns the partition: opened when it has caught up with the stream and every router has
// said what it holds; swept while it owns; closed with the ownership.
import type { Bus } from '@switchyard/bus';
import { HOLD_RENEW_MS } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import { catchUp } from '../catch-up.ts';
import { namesEver, type Partition } from '../partitions/partition.ts';
import type { Progress } from '../progress.ts';
import type { Store } from '../store/store.ts';
import { Accounts } from './accounts.ts';
import type { AccountRecords } from './records.ts';

/** One renewal of each router, and what it takes on the way. */
export const LEARN_MS = HOLD_RENEW_MS + 500;
const SWEEP_MS = 1_000;
/** Between two looks whether the ownership has ended while its sums are recovered. */
const LOOK_AGAIN_MS = 500;

export interface OpenAccountsOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly partition: Partition;
  readonly records: Pick<AccountRecords, 'orgRecord' | 'keyRecord' | 'keysCaughtUp'>;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenedAccounts {
  readonly accounts: Accounts;
  /** Lets calls in once everything is known that was spent and held before. */
  admit(signal: AbortSignal): Promise<void>;
  close(): void;
}

export function openAccounts(options: OpenAccountsOptions): OpenedAccounts {
  const { bus, store, partition, records, progress, clock, logger } = options;
  const accounts = new Accounts({
    ...{ store, progress, clock },
    partitions: namesEver(partition.layout),
    orgRecord: records.orgRecord,
    keyRecord: records.keyRecord,
    keysCaughtUp: records.keysCaughtUp,
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
      // What a renewal holds is put into a budget: none can be read, nor anything learnt, before.
      while (!progress.whole && !signal.aborted) await progress.changed(LOOK_AGAIN_MS);
      const learnt = new Promise<void>((resolve) => {
        clock.after(LEARN_MS, resolve);
      });
      for (let asked = clock.now(); !signal.aborted; asked = clock.now())
        if ((await catchUp({ bus, partition, progress, clock })).getTime() >= asked) break;
      await learnt;
      if (!signal.aborted) accounts.desk.open();
    },
    close() {
      clearInterval(sweeping);
      accounts.desk.close();
    },
  };
}
