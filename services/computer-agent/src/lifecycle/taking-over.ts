// What an agent does with a record that it finds: it takes over a run, takes back what was begun, finishes what was
// ending, and notices a container that went away. Idempotent, under the computer's lock.
import type { ComputerRecord } from '@switchyard/contracts';
import type { ComputerHost, RunningComputer } from '../computer/computer-host.ts';
import type { KnownExec } from '../computer/exec.ts';
import { billableWhenLost, billableWhenResumed } from '../metering/resumed-run.ts';
import { RunHolds } from '../metering/run-holds.ts';
import { endRun, finishWhatWasLeft } from './ending.ts';
import type { HeldComputer } from './held-computer.ts';
import { changedEvent } from './lifecycle-event.ts';
import { LiveRun } from './live-run.ts';
import { RecoveredExecs } from './recovered-execs.ts';
import { ACTIVITY_BEHIND_MS_MAX, noteActivity, watchRun } from './run-watch.ts';

/** Reconciler's rounds in which a container that is there but does not answer is tried again before it is given up. */
const CONNECT_ATTEMPTS_MAX = 3;
/** A creation whose request has not come after this time was given up by whoever made its record. */
export const CREATION_ARRIVES_MS_MAX = 60_000;

/** @param containers ids of this host's containers that ran a moment ago */
export async function bringInOrder(computer: HeldComputer, containers: ReadonlySet<string>): Promise<void> {
  switch (computer.record.state) {
    case 'creating':
      return takeBackCreation(computer);
    case 'running':
      if (!computer.live) return resume(computer, containers);
      return checkContainer(computer, computer.live, containers);
    case 'starting':
    case 'stopping':
    case 'deleting':
      return finishWhatWasLeft(computer);
    case 'stopped':
    case 'error':
      return;
  }
}

/** A creation that an earlier agent began, or that never reached one: nobody was told of the computer. */
async function takeBackCreation(computer: HeldComputer): Promise<void> {
  const { id, on, record } = computer;
  const ageMs = on.clock.now() - Date.parse(record.created_at);
  const begun = record.run !== null || record.progress !== null;
  const onItsWay = !begun && ageMs < CREATION_ARRIVES_MS_MAX;
  if (onItsWay) return;
  await computer.removeContainer();
  await on.host.workspaces.delete(id);
  await on.records.delete(computer.entry);
  computer.leave();
}

async function checkContainer(
  computer: HeldComputer,
  live: LiveRun,
  containers: ReadonlySet<string>,
): Promise<void> {
  const { containerId } = live.computer;
  if (containers.has(containerId)) return live.computer.mendFiles();
  // It may have been started after the list was made.
  const now = await computer.on.host.containers();
  if (now.some((container) => container.containerId === containerId && container.running)) return;
  await endRun(computer, 'exited', live.elapsedMs);
}

async function resume(computer: HeldComputer, containers: ReadonlySet<string>): Promise<void> {
  const { on, record, run } = computer;
  const { container } = record;
  await publishBeginning(computer);
  const lostMs = billableWhenLost(run, on.lastHeardBefore);
  if (container === null || !containers.has(container)) return endRun(computer, 'exited', lostMs);
  // Its lifetime went on while no agent watched: it ends where it should have ended.
  const lifetimeEnd = Date.parse(run.started_at) + on.limits.maxLifetimeMs;
  if (lifetimeEnd <= on.clock.now())
    return endRun(computer, 'max_lifetime', billableWhenResumed(run, on.lastHeardBefore, lifetimeEnd));
  let found: Found;
  try {
    found = await find(on.host, container);
  } catch (error) {
    computer.connectFailures += 1;
    if (computer.connectFailures < CONNECT_ATTEMPTS_MAX) throw error;
    return endRun(computer, 'exited', lostMs);
  }
  const live = await takeOver(computer, found).catch((error: unknown) => {
    found.running.release(); // the next round takes it over from the beginning
    throw error;
  });
  watchRun(computer, live);
  noteActivity(computer); // the record says since when it is idle as it was before the absence
}

/** An earlier agent may have died between the record and the event. */
async function publishBeginning({ on, record, run }: HeldComputer): Promise<void> {
  if (run.minutes_charged > 0) return;
  const change = run.number === 1 ? 'created' : 'started';
  await on.events.publish(changedEvent(record, change, new Date(run.started_at)));
}

interface Found {
  readonly running: RunningComputer;
  /** What its init knows of. */
  readonly execs: readonly KnownExec[];
}

/** Connects, and has a first answer. @throws where there is none: no connection is left then */
async function find(host: ComputerHost, container: string): Promise<Found> {
  const running = await host.connect(container);
  try {
    return { running, execs: await running.execs() };
  } catch (error) {
    running.release();
    throw error;
  }
}

/** Once the run is held here it is watched: nothing that may fail stands between the two. */
async function takeOver(computer: HeldComputer, { running, execs }: Found): Promise<LiveRun> {
  const { on, record, run } = computer;
  const { clock, billable, limits, lastHeardBefore } = on;
  const now = clock.now();
  const elapsedMs = billableWhenResumed(run, lastHeardBefore, now);
  await computer.write({
    run: { ...run, anchored_ms: elapsedMs, anchored_at: new Date(now).toISOString() },
  });
  on.capacity.takeAnyway(computer.id, { cpu: record.cpu, memoryMb: record.memory_mb });
  const live = new LiveRun({
    computer: running,
    clock,
    billable,
    limits,
    elapsedMs,
    ageMs: Math.max(0, now - Date.parse(run.started_at)),
    idleMs: idleMsBefore(record, lastHeardBefore),
    minutesPublished: run.minutes_charged,
  });
  computer.live = live;
  computer.holds = new RunHolds({ keeper: on.holds, record, run: run.number, clock, logger: on.logger });
  computer.recovered = RecoveredExecs.attach(execs, live, clock, () => noteActivity(computer));
  return live;
}

/**
 * The idle window stands still while there was no agent to take a command. What was active a moment before that may have
 * been so until then: of that the record has not heard yet.
 */
function idleMsBefore({ last_activity_at }: ComputerRecord, lastHeardBefore: number): number {
  if (last_activity_at === null) return 0;
  const idleMs = lastHeardBefore - Date.parse(last_activity_at);
  return idleMs > ACTIVITY_BEHIND_MS_MAX ? idleMs : 0;
}
