// Cleans up after a crash during a creation: slots without a computer, and records that no agent will ever process. Any
// number of instances may run the sweep, since each step is a compare-and-set.
import { type Repeating, repeat } from '@switchyard/service';
import type { ComputerOperations } from './computer-operations.ts';
import { giveUpComputer } from './lost-host.ts';
import { SLOT_EMPTY_MS_MAX } from './slots.ts';

export const SWEEP_MS = 30_000;

type SweepDeps = Pick<
  ComputerOperations,
  'records' | 'minutes' | 'slots' | 'hosts' | 'events' | 'clock' | 'logger'
>;

/** Runs the sweep every SWEEP_MS. */
export function keepSweeping(deps: SweepDeps): Repeating {
  const failed = 'the sweep of computers failed';
  return repeat({ everyMs: SWEEP_MS, clock: deps.clock, logger: deps.logger, failed }, () => sweep(deps));
}

async function sweep(deps: SweepDeps): Promise<void> {
  await giveUpUnborn(deps);
  for (const org of await deps.slots.orgs()) await deps.slots.freeEmpty(org);
}

/** The agent of a live host removes stale `creating` records itself; for a silent host the sweep does it. */
async function giveUpUnborn(deps: SweepDeps): Promise<void> {
  const now = deps.clock.now();
  for (const record of await deps.records.all()) {
    const { created_at, state, host } = record;
    const old = now - Date.parse(created_at) > SLOT_EMPTY_MS_MAX;
    if (state !== 'creating' || !old || !deps.hosts.isSilent(host)) continue;
    deps.logger.warn(
      { computer: record.id, host: record.host },
      'a computer was never created, and is given up',
    );
    await giveUpComputer(deps, record);
  }
}
