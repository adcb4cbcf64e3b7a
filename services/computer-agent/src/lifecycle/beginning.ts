// How a run begins, under the computer's lock:
//
//   hold its first minute -> reserve a container -> record it and the run -> start it -> record `running`
//
// and after that its caller's event. Whatever fails leaves no container, no run and nothing held.
import type { ComputerRun, CreationProgress } from '@switchyard/contracts';
import type { Reservation, RunningComputer } from '../computer/computer-host.ts';
import { RunHolds } from '../metering/run-holds.ts';
import type { CreationReport } from './creation-report.ts';
import type { HeldComputer } from './held-computer.ts';
import { LiveRun } from './live-run.ts';
import { watchRun } from './run-watch.ts';

export interface BeginOptions {
  /** The first run of the computer. */
  readonly first: boolean;
  /** Whether something limits what its key may spend; undefined: not known. */
  readonly limited: boolean | undefined;
  /** Aborting it ends the wait for an image. */
  readonly signal?: AbortSignal;
  /** Of a first run: hears how far its image is. */
  readonly report?: CreationReport | undefined;
}

/**
 * @throws ServiceError `no_capacity`, `image_unavailable`, `computer_failed`; `insufficient_funds`, `budget_exceeded`.
 */
export async function beginRun(
  computer: HeldComputer,
  { first, limited, signal, report }: BeginOptions,
): Promise<void> {
  const { id, on, record } = computer;
  const size = { cpu: record.cpu, memoryMb: record.memory_mb };
  on.capacity.take(id, size, first);
  const { clock, logger } = on;
  const holds = new RunHolds({ keeper: on.holds, record, run: record.runs + 1, clock, logger });
  try {
    await holds.begin(limited);
    computer.holds = holds;
    const onPull = report && ((progress: CreationProgress) => report.pulling(progress));
    const wanted = { computerId: id, image: record.image, ...size, onPull, signal };
    const reservation = await on.host.reserve(wanted).finally(() => report?.settle());
    const running = await startReserved(computer, reservation, { first, report });
    await recordRunning(computer, running);
  } catch (error) {
    on.capacity.release(id);
    holds.giveBack();
    computer.holds = null;
    // Where even this fails, the record stays `starting`, and whoever comes next finishes what was left.
    if (computer.record.state === 'starting')
      await computer.write({ state: 'stopped', container: null, run: null }).catch(() => {});
    throw error;
  }
}

/** The run and its container are recorded before the container does anything. */
async function startReserved(
  computer: HeldComputer,
  reservation: Reservation,
  { first, report }: Pick<BeginOptions, 'first' | 'report'>,
): Promise<RunningComputer> {
  try {
    await computer.write({
      state: first ? 'creating' : 'starting',
      container: reservation.containerId,
      run: newRun(computer),
      runs: computer.record.runs + 1,
      progress: report?.starting() ?? null,
    });
  } catch (error) {
    await reservation.discard();
    throw error;
  }
  return reservation.start();
}

async function recordRunning(computer: HeldComputer, running: RunningComputer): Promise<void> {
  const now = computer.now.toISOString();
  const run = { ...computer.run, started_at: now, anchored_at: now };
  try {
    await computer.write({ state: 'running', run, stop_reason: null, last_activity_at: now, progress: null });
  } catch (error) {
    await running.stop();
    throw error;
  }
  const { clock, billable, limits } = computer.on;
  const times = { elapsedMs: 0, ageMs: 0, idleMs: 0, minutesPublished: 0 };
  computer.live = new LiveRun({ computer: running, clock, billable, limits, ...times });
  watchRun(computer, computer.live);
}

function newRun(computer: HeldComputer): ComputerRun {
  const now = computer.now.toISOString();
  return {
    number: computer.record.runs + 1,
    started_at: now,
    minutes_charged: 0,
    anchored_ms: 0,
    anchored_at: now,
  };
}
