// Background events of a run: minutes end, the idle window or the lifetime runs out, the container ends. No caller
// waits for them, so failures are retried here.
import { completedMinutes, MINUTE_MS } from '@switchyard/contracts';
import { chargeMinutes } from './charge.ts';
import type { Computer } from './computer.ts';
import { endRun, finishTransition } from './end-run.ts';
import { exclusively } from './exclusively.ts';
import type { Run } from './run.ts';

/** Delay before retrying a transition that failed because Docker, JetStream or the store was unavailable. */
const RETRY_DELAY_MS = 1_000;
/** Delay before activity is written into the record: one write for a burst of commands. */
const ACTIVITY_WRITE_MS = 500;
/** Minimum interval between writes for a computer with many short commands: a write is a message stored on disk. */
const ACTIVITY_WRITE_EVERY_MS = 5_000;
/** Maximum error of the recorded idle time of a computer with occasional activity. */
export const ACTIVITY_BEHIND_MS_MAX = ACTIVITY_WRITE_MS + ACTIVITY_WRITE_EVERY_MS;

/** Watches the run until it is forgotten. */
export function watchRun(computer: Computer, run: Run): void {
  lookLater(computer, run);
  holdAhead(computer, run);
  void run.container.ended.then(() => run.setEnded('exited'));
  void run.container.exited.then((reason) => {
    if (computer.run !== run) return;
    run.setEnded(reason);
    tryUntilDone(computer, run, () => endRun(computer, run.endNow(reason)));
  });
}

/** A command or connection began or ended. */
export function noteActivity(computer: Computer): void {
  const { run } = computer;
  if (!run) return;
  lookLater(computer, run);
  if (!run.cancelActivityWrite) writeActivitySoon(computer, run);
}

/** Checks repeatedly while it waits, because the computer may have become busy. */
function writeActivitySoon(computer: Computer, run: Run): void {
  const { clock, logger } = computer.deps;
  run.cancelActivityWrite = clock.after(ACTIVITY_WRITE_MS, () => {
    run.cancelActivityWrite = null;
    if (activityMayWait(computer, run)) return writeActivitySoon(computer, run);
    exclusively(computer, async () => {
      if (computer.run === run && computer.record.state === 'running') await writeActivity(computer);
    }).catch((error: unknown) =>
      logger.debug({ err: error, computer: computer.id }, 'activity was not written; the next will be'),
    );
  });
}

/** A change between busy and idle is written at once, the time of the last activity at intervals. */
function activityMayWait({ record, deps }: Computer, run: Run): boolean {
  const wasBusy = record.last_activity_at === null;
  if (wasBusy !== (run.idleSince === null)) return false;
  return deps.clock.monotonic() < run.activityWrittenAt + ACTIVITY_WRITE_EVERY_MS;
}

/** Under the lock. */
export async function writeActivity(computer: Computer): Promise<void> {
  const { run, record, deps } = computer;
  const idleSince = run?.idleSince?.toISOString() ?? null;
  if (idleSince === record.last_activity_at) return;
  await computer.write({ last_activity_at: idleSince });
  if (run) run.activityWrittenAt = deps.clock.monotonic();
}

function lookLater(computer: Computer, run: Run): void {
  run.cancelLook?.();
  run.cancelLook = computer.deps.clock.after(run.nextLookMs(), () =>
    tryUntilDone(computer, run, () => look(computer, run)),
  );
}

/** Ends the run or a minute if due now. Call under the lock. */
async function look(computer: Computer, run: Run): Promise<void> {
  if (run.hasEnded) return; // its end is in progress or being retried: do nothing else
  const due = run.due();
  if (due) return endRun(computer, due);
  await chargeMinutes(computer, completedMinutes(run.elapsedMs), run.elapsedMs);
  lookLater(computer, run);
  holdAhead(computer, run);
}

/** Runs in the background. If a minute is refused, the run's end is set. */
function holdAhead(computer: Computer, run: Run): void {
  run.holds.keepAhead(run.minutesPublished, () => {
    if (computer.run !== run) return;
    const minutes = run.holds.paidMinutes;
    run.paidMs = minutes === null ? Number.POSITIVE_INFINITY : minutes * MINUTE_MS;
    lookLater(computer, run);
  });
}

/** Retries after a second while the run lasts. */
function tryUntilDone(computer: Computer, run: Run, work: () => Promise<void>): void {
  const { id, deps } = computer;
  exclusively(computer, async () => {
    if (computer.run !== run) return;
    const { state } = computer.record;
    if (state === 'stopping' || state === 'deleting') return finishTransition(computer);
    await work();
  }).catch((error: unknown) => {
    if (computer.isGone) return;
    deps.logger.warn({ err: error, computer: id }, 'a computer’s transition failed and is tried again');
    run.cancelRetry?.();
    run.cancelRetry = deps.clock.after(RETRY_DELAY_MS, () => {
      if (computer.run === run) tryUntilDone(computer, run, work);
    });
  });
}
