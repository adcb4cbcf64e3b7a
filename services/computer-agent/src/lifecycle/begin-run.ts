// How a run begins, under the computer's lock:
//
//   hold its first minute -> reserve a container -> record it and the run -> start it -> record `running`
//
// The caller then publishes the event. A failure leaves no container, no run and no holds.
import { type ComputerRun, type CreationProgress, timedStopsOf } from '@switchyard/contracts';
import type { Container } from '../computer/container.ts';
import type { Reservation } from '../computer/reservations.ts';
import { containerOptionsOf } from '../docker/container-config.ts';
import { RunHolds } from '../metering/run-holds.ts';
import type { Computer } from './computer.ts';
import type { CreationReport } from './creation-report.ts';
import { Run } from './run.ts';
import { watchRun } from './run-watch.ts';

interface BeginOptions {
  /** The first run of the computer. */
  readonly first: boolean;
  /** Whether a spending limit applies to the key; undefined: not known. */
  readonly limited: boolean | undefined;
  /** Aborting it ends the wait for an image. */
  readonly signal?: AbortSignal;
  /** For a first run: receives the progress of the image. */
  readonly report?: CreationReport | undefined;
}

/**
 * @throws ServiceError `no_capacity`, `image_unavailable`, `computer_failed`; `insufficient_funds`, `budget_exceeded`.
 */
export async function beginRun(
  computer: Computer,
  { first, limited, signal, report }: BeginOptions,
): Promise<void> {
  const { id, deps, record } = computer;
  const options = containerOptionsOf(record);
  deps.capacity.take(id, options, first);
  const { clock, logger } = deps;
  const holds = new RunHolds({ keeper: deps.holds, record, run: record.runs + 1, clock, logger });
  try {
    await holds.begin(limited);
    const onPull = report && ((progress: CreationProgress) => report.pulling(progress));
    const wanted = { computerId: id, org: record.org, ...options, onPull, signal };
    const reservation = await deps.host.reserve(wanted).finally(() => report?.settle());
    const container = await startReserved(computer, reservation, { first, report });
    await recordRunning(computer, container, holds);
  } catch (error) {
    deps.capacity.release(id);
    holds.giveBack();
    // If this fails too, the record stays `starting`, and the next transition finishes the cleanup.
    if (computer.record.state === 'starting')
      await computer.write({ state: 'stopped', container: null, run: null }).catch(() => {});
    throw error;
  }
}

/** Records the run and its container before the container does anything. */
async function startReserved(
  computer: Computer,
  reservation: Reservation,
  { first, report }: Pick<BeginOptions, 'first' | 'report'>,
): Promise<Container> {
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

async function recordRunning(computer: Computer, container: Container, holds: RunHolds): Promise<void> {
  const now = computer.now.toISOString();
  const run = { ...computer.recordedRun, started_at: now, anchored_at: now };
  try {
    await computer.write({ state: 'running', run, stop_reason: null, last_activity_at: now, progress: null });
  } catch (error) {
    // The reconciler removes a container that is left.
    await container.stop().catch((failure: unknown) => {
      computer.deps.logger.warn({ err: failure, computer: computer.id }, 'a container is left over');
    });
    throw error;
  }
  const { clock, billable } = computer.deps;
  const limits = timedStopsOf(computer.record, computer.deps.limits);
  const times = { elapsedMs: 0, ageMs: 0, idleMs: 0, minutesPublished: 0 };
  computer.run = new Run({ container, holds, clock, billable, limits, ...times });
  watchRun(computer, computer.run);
}

function newRun(computer: Computer): ComputerRun {
  const now = computer.now.toISOString();
  return {
    number: computer.record.runs + 1,
    started_at: now,
    minutes_charged: 0,
    anchored_ms: 0,
    anchored_at: now,
  };
}
