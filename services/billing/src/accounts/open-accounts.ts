// The accounts of the instance that owns the partition: opened when it has caught up with the stream and every router has
// said what it holds; swept while it owns; closed with the ownership.
import { type Bucket, type Bus, mirrorBucket, openBucket } from '@switchyard/bus';
import { HOLD_RENEW_MS, type OrgRecord } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import { catchUp } from '../catch-up.ts';
import type { Progress } from '../progress.ts';
import type { Store } from '../store/store.ts';
import { Accounts } from './accounts.ts';
import { KeysById } from './keys-by-id.ts';

/** One renewal of each router, and what it takes on the way. */
export const LEARN_MS = HOLD_RENEW_MS + 500;
const SWEEP_MS = 1_000;

export interface OpenAccountsOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenedAccounts {
  readonly accounts: Accounts;
  readonly orgs: Bucket<OrgRecord>;
  /** Lets calls in once everything is known that was spent and held before. */
  admit(signal: AbortSignal): Promise<void>;
  close(): void;
}

export async function openAccounts(options: OpenAccountsOptions): Promise<OpenedAccounts> {
  const { bus, store, progress, clock, logger } = options;
  const orgBucket = await openBucket(bus, 'orgs');
  const orgs = await mirrorBucket(bus, orgBucket, { tick: false });
  const keys = await mirrorBucket(bus, await openBucket(bus, 'keys'), { tick: false });
  const byId = new KeysById(keys);
  const accounts = new Accounts({
    store,
    clock,
    orgRecord: (org) => orgs.peek(org),
    keyRecord: (org, id) => byId.get(org, id),
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
    orgs: orgBucket,
    async admit(signal) {
      const learnt = new Promise<void>((resolve) => {
        clock.after(LEARN_MS, resolve);
      });
      for (let asked = clock.now(); !signal.aborted; asked = clock.now())
        if ((await catchUp({ bus, progress, clock })).getTime() >= asked) break;
      await learnt;
      if (!signal.aborted) accounts.desk.open();
    },
    close() {
      clearInterval(sweeping);
      accounts.desk.close();
      orgs.close();
      keys.close();
    },
  };
}
