// The accounts of the instance that owns the partition. They open when billing has caught up with the stream and every
// router has renewed its holds. They are swept during the ownership and close with it.
import { computerOfMinute, HOLD_RENEW_MS, HOST_EVENTS_STREAM } from '@switchyard/contracts';
import { repeat, sleep } from '@switchyard/service';
import { catchUp } from '../catch-up.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { namesEver } from '../partitions/partition.ts';
import { Accounts } from './accounts.ts';
import { SWEEP_MS } from './hold-desk.ts';
import type { AccountRecords } from './records.ts';
import { bookedAmong } from './spent.ts';

/** One renewal interval of the routers, plus the time of delivery. */
const LEARN_MS = HOLD_RENEW_MS + 500;
/** Learning is counted in steps: a pause of this process, in which it reads no renewal, counts as one step. */
const LEARN_STEP_MS = 500;
/** Time between two searches for settled events that never came. */
const SEARCH_MS = 10_000;
/** Time between two checks whether the ownership has ended while the sums are recovered. */
const RECHECK_MS = 500;

interface OpenAccountsDeps
  extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'progress' | 'clock' | 'logger'> {
  readonly records: Pick<AccountRecords, 'orgRecord' | 'keyRecord' | 'require'>;
}

interface OpenedAccounts {
  readonly accounts: Accounts;
  /** Admits calls once all earlier spending and holds are known. */
  admit(signal: AbortSignal): Promise<void>;
  close(): void;
}

export function openAccounts(deps: OpenAccountsDeps): OpenedAccounts {
  const { bus, store, partition, records, progress, clock, logger } = deps;
  const accounts = new Accounts({
    ...{ store, progress, clock, records },
    partitions: namesEver(partition.layout),
  });
  const { desk } = accounts;
  /** Whether everything that was published before the call is booked. */
  const caughtUp = async () => {
    const asked = clock.now();
    return (await catchUp(deps)).getTime() >= asked;
  };
  const sweep = async () => {
    const calls = desk.sweep();
    if (calls.length > 0) logger.warn({ calls }, 'holds of a dead router have ended');
  };
  /** Leaves out minutes of computers while some may wait for control to admit them to the stream. */
  const overdueAndAdmitted = async () => {
    const { overdue } = desk;
    if (!overdue.some(computerOfMinute)) return overdue;
    const { state } = await bus.jsm.streams.info(HOST_EVENTS_STREAM);
    return state.messages === 0 ? overdue : overdue.filter((event) => !computerOfMinute(event));
  };
  /** An event that is not booked in time may still wait in a stream, and its cost would be free for that time. */
  const dropLost = async () => {
    const overdue = await overdueAndAdmitted();
    if (overdue.length === 0 || !(await caughtUp())) return;
    // Recovery of a batch that failed half-way does not notify the desk.
    for (const event of await bookedAmong(store, overdue)) desk.foundBooked(event);
    const events = desk.drop(overdue);
    if (events.length > 0)
      logger.error({ alarm: 'settled_not_booked', events }, 'calls were settled and their events never came');
  };
  const learn = async () => {
    for (let ms = 0; ms < LEARN_MS; ms += LEARN_STEP_MS) await sleep(LEARN_STEP_MS, clock);
  };
  const sweeping = repeat({ everyMs: SWEEP_MS, clock, logger, failed: 'holds could not be swept' }, sweep);
  const searching = repeat(
    {
      everyMs: SEARCH_MS,
      clock,
      logger,
      failed: 'settled events could not be searched for; they still count',
    },
    dropLost,
  );
  return {
    accounts,
    async admit(signal) {
      // Renewals need budgets, and no budget can be read before the sums are whole.
      while (!progress.complete && !signal.aborted) await progress.changed(RECHECK_MS);
      const learnt = learn();
      while (!signal.aborted && !(await caughtUp()));
      await learnt;
      await accounts.restored();
      if (!signal.aborted) desk.open();
    },
    close() {
      void sweeping.stop();
      void searching.stop();
      desk.close();
    },
  };
}
