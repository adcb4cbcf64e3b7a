// Removes the placements of computers that are gone, an hour later: their hosts may still send events of them.
import type { Bucket } from '@switchyard/bus';
import type { ComputerMinutes } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import type { PlacedRecords } from './placed-records.ts';

const PLACEMENT_SWEEP_MS = 600_000;
/** Events of a host arrive within seconds of the removal of the record, since both need the bus. */
const KEPT_MS = 3_600_000;

interface PlacementSweepDeps {
  readonly records: Pick<PlacedRecords, 'placements' | 'withoutRecord'>;
  readonly minutes: Pick<Bucket<ComputerMinutes>, 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs the sweep every PLACEMENT_SWEEP_MS. Any number of instances may run it. */
export function keepSweepingPlacements(deps: PlacementSweepDeps): Repeating {
  const { clock, logger } = deps;
  const sweep = placementSweep(deps);
  return repeat(
    { everyMs: PLACEMENT_SWEEP_MS, clock, logger, failed: 'the sweep of placements failed' },
    sweep,
  );
}

/** Returns the sweep, which remembers since when each record has been gone. */
export function placementSweep({ records, minutes, clock }: PlacementSweepDeps): () => Promise<void> {
  let goneSince = new Map<string, number>();
  return async () => {
    const now = clock.now();
    goneSince = new Map((await records.withoutRecord()).map((key) => [key, goneSince.get(key) ?? now]));
    for (const [key, since] of goneSince) {
      if (now - since < KEPT_MS) continue;
      await minutes.delete(key);
      await records.placements.delete(key);
    }
  };
}
