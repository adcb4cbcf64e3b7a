// Cleans up what computers leave behind. Any number of instances may run the sweeps, since each step is a
// compare-and-set or idempotent.
import type { Bucket } from '@switchyard/bus';
import type { ComputerMinutes } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { ComputerOperations } from './computer-operations.ts';
import { deleteLostComputer } from './lost-host.ts';
import type { PlacedRecords } from './placed-records.ts';
import { SLOT_EMPTY_MS_MAX } from './slots.ts';

/** Events of a host arrive within seconds of the removal of the record, since both need the bus. */
const PLACEMENT_KEPT_MS = 3_600_000;

type SweepDeps = Pick<
  ComputerOperations,
  'records' | 'minutes' | 'slots' | 'hosts' | 'events' | 'clock' | 'logger'
>;

/** After a crash during a creation: slots without a computer, and records that no agent will ever process. */
export async function sweepComputers(deps: SweepDeps): Promise<void> {
  await giveUpStuck(deps);
  for (const org of await deps.slots.orgs()) await deps.slots.freeEmpty(org);
}

/** The agent of a live host removes stale `creating` records itself; for a silent host the sweep does it. */
async function giveUpStuck(deps: SweepDeps): Promise<void> {
  const now = deps.clock.now();
  for (const record of await deps.records.all()) {
    const { created_at, state, host } = record;
    const old = now - Date.parse(created_at) > SLOT_EMPTY_MS_MAX;
    if (state !== 'creating' || !old || !deps.hosts.isSilent(host)) continue;
    deps.logger.warn(
      { computer: record.id, host: record.host },
      'a computer was never created, and is given up',
    );
    await deleteLostComputer(deps, record);
  }
}

interface PlacementSweepDeps {
  readonly records: Pick<PlacedRecords, 'placements' | 'withoutRecord'>;
  readonly minutes: Pick<Bucket<ComputerMinutes>, 'delete'>;
  readonly clock: Clock;
}

/**
 * Returns the sweep of the placements of computers that are gone. It remembers since when: their hosts may still send
 * events of them.
 */
export function placementSweep({ records, minutes, clock }: PlacementSweepDeps): () => Promise<void> {
  let goneSince = new Map<string, number>();
  return async () => {
    const now = clock.now();
    goneSince = new Map((await records.withoutRecord()).map((key) => [key, goneSince.get(key) ?? now]));
    for (const [key, since] of goneSince) {
      if (now - since < PLACEMENT_KEPT_MS) continue;
      await minutes.delete(key);
      await records.placements.delete(key);
    }
  };
}
