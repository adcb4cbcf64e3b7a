// What an agent does with an existing record: takes over a run, undoes a beginning, finishes an ending, or notices
// that the container is gone. Idempotent, under the computer's lock.
import { type ComputerRecord, timedStopsOf } from '@switchyard/contracts';
import type { ComputerHost } from '../computer/computer-host.ts';
import type { Container } from '../computer/container.ts';
import type { KnownExec } from '../computer/exec.ts';
import type { RunningComputer } from '../computer/reservations.ts';
import { containerOptionsOf } from '../docker/container-config.ts';
import { billableWhenLost, billableWhenResumed } from '../metering/resumed-run.ts';
import { RunHolds } from '../metering/run-holds.ts';
import type { Computer } from './computer.ts';
import { endRun, finishTransition, undoCreation } from './end-run.ts';
import { exclusively } from './exclusively.ts';
import { changedEvent } from './lifecycle-event.ts';
import { RecoveredExecs } from './recovered-execs.ts';
import { Run, type RunEnd } from './run.ts';
import { ACTIVITY_BEHIND_MS_MAX, noteActivity, watchRun } from './run-watch.ts';

/** Reconciler rounds in which a container that exists but does not answer is retried. */
const CONNECT_ATTEMPTS_MAX = 3;
/** If the request for a creation has not arrived this long after its record was seen, control has given it up. */
export const CREATION_ARRIVES_MS_MAX = 60_000;

/**
 * Reconciles the record with Docker.
 * @param containers ids of this host's containers that ran a moment ago
 */
export function reconcile(computer: Computer, containers: ReadonlySet<string>): Promise<void> {
  return exclusively(computer, async () => {
    switch (computer.record.state) {
      case 'creating':
        return takeBackCreation(computer);
      case 'running':
        if (!computer.run) return resume(computer, containers);
        return checkContainer(computer, computer.run, containers);
      case 'starting':
      case 'stopping':
      case 'deleting':
        return finishTransition(computer);
      case 'stopped':
      case 'error':
        return;
    }
  });
}

/** Undoes a creation that an earlier agent began or that never arrived. Its caller got no answer. */
async function takeBackCreation(computer: Computer): Promise<void> {
  const { deps, record } = computer;
  const knownMs = deps.clock.monotonic() - computer.knownSince;
  const begun = record.run !== null || record.progress !== null;
  const onItsWay = !begun && knownMs < CREATION_ARRIVES_MS_MAX;
  if (onItsWay) return;
  await computer.removeContainer();
  await undoCreation(computer);
}

async function checkContainer(computer: Computer, run: Run, containers: ReadonlySet<string>): Promise<void> {
  const { containerId } = run.container;
  if (containers.has(containerId)) return run.container.remountWorkspace();
  // It may have been started after the list was made.
  const now = await computer.deps.host.containers();
  if (now.some((container) => container.containerId === containerId && container.running)) return;
  await endRun(computer, run.endNow('exited'));
}

async function resume(computer: Computer, containers: ReadonlySet<string>): Promise<void> {
  const { deps, record, recordedRun } = computer;
  const { container } = record;
  await publishBeginning(computer);
  const lost: RunEnd = {
    reason: 'exited',
    elapsedMs: billableWhenLost(recordedRun, deps.lastHeardBefore),
  };
  if (container === null || !containers.has(container)) return endRun(computer, lost);
  // The lifetime continues while no agent watches: end the run where it should have ended.
  const lifetimeEnd = Date.parse(recordedRun.started_at) + deps.limits.maxLifetimeMs;
  if (lifetimeEnd <= deps.clock.now())
    return endRun(computer, {
      reason: 'max_lifetime',
      elapsedMs: billableWhenResumed(recordedRun, deps.lastHeardBefore, lifetimeEnd),
    });
  let found: Found;
  try {
    found = await find(deps.host, {
      computerId: computer.id,
      containerId: container,
      ...containerOptionsOf(record),
    });
  } catch (error) {
    computer.connectFailures += 1;
    if (computer.connectFailures < CONNECT_ATTEMPTS_MAX) throw error;
    return endRun(computer, lost);
  }
  const run = await takeOver(computer, found).catch((error: unknown) => {
    found.container.release(); // the next round takes it over again
    throw error;
  });
  watchRun(computer, run);
  noteActivity(computer); // records the idle time from before the absence
}

/** An earlier agent may have died between the record and the event. */
async function publishBeginning({ deps, record, recordedRun }: Computer): Promise<void> {
  if (recordedRun.minutes_charged > 0) return;
  const change = recordedRun.number === 1 ? 'created' : 'started';
  await deps.events.publish(changedEvent(record, change, new Date(recordedRun.started_at)));
}

interface Found {
  readonly container: Container;
  /** Execs known to the init. */
  readonly execs: readonly KnownExec[];
}

/** Connects and checks that the init answers. @throws if it does not; the connection is closed then */
async function find(host: ComputerHost, running: RunningComputer): Promise<Found> {
  const container = await host.connect(running);
  try {
    return { container, execs: await container.init.execs() };
  } catch (error) {
    container.release();
    throw error;
  }
}

/** Starts watching right after taking the holds; no failing step may come between. */
async function takeOver(computer: Computer, { container, execs }: Found): Promise<Run> {
  const { deps, record, recordedRun } = computer;
  const { clock, billable, lastHeardBefore, logger } = deps;
  const now = clock.now();
  const elapsedMs = billableWhenResumed(recordedRun, lastHeardBefore, now);
  await computer.write({
    run: { ...recordedRun, anchored_ms: elapsedMs, anchored_at: new Date(now).toISOString() },
  });
  deps.capacity.takeAnyway(computer.id, containerOptionsOf(record));
  const run = new Run({
    container,
    holds: new RunHolds({ keeper: deps.holds, record, run: recordedRun.number, clock, logger }),
    clock,
    billable,
    limits: timedStopsOf(record, deps.limits),
    elapsedMs,
    ageMs: Math.max(0, now - Date.parse(recordedRun.started_at)),
    idleMs: idleMsBefore(record, lastHeardBefore),
    minutesPublished: recordedRun.minutes_charged,
  });
  computer.run = run;
  run.recovered = RecoveredExecs.attach(execs, run, clock, () => noteActivity(computer));
  return run;
}

/**
 * The idle window does not advance while no agent can take commands. Activity just before the absence may be missing
 * in the record, so a recent one counts as lasting until then.
 */
function idleMsBefore({ last_activity_at }: ComputerRecord, lastHeardBefore: number): number {
  if (last_activity_at === null) return 0;
  const idleMs = lastHeardBefore - Date.parse(last_activity_at);
  return idleMs > ACTIVITY_BEHIND_MS_MAX ? idleMs : 0;
}
