// How a run, and a computer, end. All under the computer's lock:
//
//   end:    record `stopping` with the run's final length -> remove the container -> events of the last minutes ->
//           event -> record `stopped`
//   delete: as end, with `deleting`; then the files go, then the event, then the record
import type { ComputerRun, StopReason } from '@switchyard/contracts';
import { startedMinutes } from '@switchyard/contracts';
import { charge } from './charge.ts';
import type { HeldComputer } from './held-computer.ts';
import { changedEvent, deletedEvent } from './lifecycle-event.ts';

/** @param elapsedMs billable milliseconds of the run */
export async function endRun(computer: HeldComputer, reason: StopReason, elapsedMs: number): Promise<void> {
  await computer.write({ state: 'stopping', stop_reason: reason, run: endedRun(computer, elapsedMs) });
  await finishStop(computer);
}

export async function deleteComputer(computer: HeldComputer): Promise<void> {
  await finishWhatWasLeft(computer);
  if (computer.isGone) return;
  const ending = computer.record.run === null ? {} : { run: endedRun(computer, computer.elapsedMs) };
  await computer.write({ state: 'deleting', ...ending });
  await finishDeletion(computer);
}

/** Finishes a transition that an error or a crash cut short, so that the next one starts from firm ground. */
export async function finishWhatWasLeft(computer: HeldComputer): Promise<void> {
  switch (computer.record.state) {
    case 'starting':
      // Nobody was told that it started: the run never was, and costs nothing.
      await computer.removeContainer();
      await computer.write({ state: 'stopped', container: null, run: null });
      return computer.forgetRun({ release: false });
    case 'stopping':
      return finishStop(computer);
    case 'deleting':
      return finishDeletion(computer);
  }
}

async function finishStop(computer: HeldComputer): Promise<void> {
  await computer.removeContainer();
  const { anchored_ms } = computer.run;
  await charge(computer, startedMinutes(anchored_ms), anchored_ms);
  await computer.on.events.publish(changedEvent(computer.record, 'stopped', computer.now));
  await computer.write({ state: 'stopped', container: null, run: null, last_activity_at: null });
  computer.forgetRun({ release: false });
}

/** A record whose `run` is gone was taken back by control: nobody was told of the computer, nobody pays for it. */
export async function finishDeletion(computer: HeldComputer): Promise<void> {
  const { on, record } = computer;
  await computer.removeContainer();
  const { run } = record;
  if (run) await charge(computer, startedMinutes(run.anchored_ms), run.anchored_ms);
  await on.host.workspaces.delete(computer.id);
  await on.events.publish(deletedEvent(computer.record, computer.now));
  await on.records.delete(computer.entry);
  computer.forgetRun({ release: false });
  computer.leave();
}

function endedRun(computer: HeldComputer, elapsedMs: number): ComputerRun {
  return { ...computer.run, anchored_ms: elapsedMs, anchored_at: computer.now.toISOString() };
}
