// How a run, and a computer, end. All under the computer's lock:
//
//   end:    record `stopping` with the run's final length -> remove the container -> events of the last minutes ->
//           event -> record `stopped`
//   delete: as end, with `deleting`; then the files go, then the event, then the record
import type { ComputerRun } from '@switchyard/contracts';
import { startedMinutes } from '@switchyard/contracts';
import { chargeMinutes } from './charge.ts';
import type { Computer } from './computer.ts';
import { changedEvent, deletedEvent } from './lifecycle-event.ts';
import type { RunEnd } from './run.ts';

export async function endRun(computer: Computer, end: RunEnd): Promise<void> {
  await computer.write({ state: 'stopping', stop_reason: end.reason, run: endedRun(computer, end) });
  await finishStop(computer);
}

/** Ends a run that is in progress, then removes everything. */
export async function removeComputer(computer: Computer): Promise<void> {
  await finishTransition(computer);
  if (computer.isGone) return;
  const ending = computer.record.run === null ? {} : { run: endedRun(computer, computer.endNow('user')) };
  await computer.write({ state: 'deleting', ...ending });
  await finishDeletion(computer);
}

/** Finishes a transition that an error or a crash interrupted, before the next one begins. */
export async function finishTransition(computer: Computer): Promise<void> {
  switch (computer.record.state) {
    case 'starting':
      // Its caller got no answer, so the run does not count and costs nothing.
      await computer.removeContainer();
      await computer.write({ state: 'stopped', container: null, run: null });
      return computer.forgetRun({ release: false });
    case 'stopping':
      return finishStop(computer);
    case 'deleting':
      return finishDeletion(computer);
  }
}

async function finishStop(computer: Computer): Promise<void> {
  await computer.removeContainer();
  const { anchored_ms } = computer.recordedRun;
  await chargeMinutes(computer, startedMinutes(anchored_ms), anchored_ms);
  await computer.deps.events.publish(changedEvent(computer.record, 'stopped', computer.now));
  await computer.write({ state: 'stopped', container: null, run: null, last_activity_at: null });
  computer.forgetRun({ release: false });
}

/** A record without a `run` was taken back by control: its caller got no answer, and it costs nothing. */
export async function finishDeletion(computer: Computer): Promise<void> {
  const { deps, record } = computer;
  await computer.removeContainer();
  const { run } = record;
  if (run) await chargeMinutes(computer, startedMinutes(run.anchored_ms), run.anchored_ms);
  await deps.host.workspaces.delete(computer.id);
  await deps.events.publish(deletedEvent(computer.record, computer.now));
  await deps.records.delete(computer.entry);
  computer.forgetRun({ release: false });
  computer.leave();
}

/**
 * Removes a computer whose creation failed, free of charge. Also its record: a write whose answer was lost may have made
 * it `running`.
 */
export async function undoCreation(computer: Computer): Promise<void> {
  const { id, deps, entry } = computer;
  await deps.host.workspaces.delete(id);
  await deps.records.delete(entry);
  computer.leave();
}

function endedRun(computer: Computer, { elapsedMs }: RunEnd): ComputerRun {
  return { ...computer.recordedRun, anchored_ms: elapsedMs, anchored_at: computer.now.toISOString() };
}
