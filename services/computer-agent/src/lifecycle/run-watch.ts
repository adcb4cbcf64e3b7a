// What happens to a run by itself: minutes end, the idle window or the lifetime runs out, its container ends. Nobody
// waits for any of it, so what fails is tried again.
import { completedMinutes, MINUTE_MS } from '@switchyard/contracts';
import { charge } from './charge.ts';
import { endRun, finishWhatWasLeft } from './ending.ts';
import { exclusively } from './exclusively.ts';
import type { HeldComputer } from './held-computer.ts';
import type { LiveRun } from './live-run.ts';

/** A transition that failed for want of Docker, JetStream or the store is tried again after this. */
const AGAIN_MS = 1_000;
/** Activity is written into the record this long after it happened: one write for a burst of commands. */
const ACTIVITY_WRITE_MS = 500;
/**
 * Of a computer that gets one short command after the other no more than one write in this time: a write is a message
 * that is kept on disk, where a command is none.
 */
const ACTIVITY_WRITE_EVERY_MS = 5_000;
/** So long the record may say of a computer that is active now and then that it is idle since an earlier moment. */
export const ACTIVITY_BEHIND_MS_MAX = ACTIVITY_WRITE_MS + ACTIVITY_WRITE_EVERY_MS;

/** From now on, until the run is forgotten. */
export function watchRun(computer: HeldComputer, live: LiveRun): void {
  lookLater(computer, live.nextLookMs());
  holdAhead(computer, live);
  void live.computer.exited.then((exit) => {
    if (computer.live !== live) return;
    live.hasEnded = true;
    const reason = exit.reason === 'out_of_memory' ? 'out_of_memory' : 'exited';
    const { elapsedMs } = live; // however long it takes until the record can be written
    tryUntilDone(computer, live, () => endRun(computer, reason, elapsedMs));
  });
}

/** A command, or the like, began or ended. */
export function noteActivity(computer: HeldComputer): void {
  const { live } = computer;
  if (!live) return;
  lookLater(computer, live.nextLookMs());
  if (!computer.cancelActivityWrite) writeActivitySoon(computer, live);
}

/** Looks again every so often while it waits: it may have become busy meanwhile. */
function writeActivitySoon(computer: HeldComputer, live: LiveRun): void {
  const { clock, logger } = computer.on;
  computer.cancelActivityWrite = clock.after(ACTIVITY_WRITE_MS, () => {
    computer.cancelActivityWrite = null;
    if (activityMayWait(computer, live)) return writeActivitySoon(computer, live);
    exclusively(computer, async () => {
      if (computer.live === live && computer.record.state === 'running') await writeActivity(computer);
    }).catch((error: unknown) =>
      logger.debug({ err: error, computer: computer.id }, 'activity was not written; the next will be'),
    );
  });
}

/** Whether it is busy or idle is written at once; since when it is idle, now and then. */
function activityMayWait({ record, on, activityWrittenAt }: HeldComputer, live: LiveRun): boolean {
  const wasBusy = record.last_activity_at === null;
  if (wasBusy !== (live.idleSince === null)) return false;
  return on.clock.monotonic() < activityWrittenAt + ACTIVITY_WRITE_EVERY_MS;
}

/** Under the lock. */
export async function writeActivity(computer: HeldComputer): Promise<void> {
  const idleSince = computer.live?.idleSince?.toISOString() ?? null;
  if (idleSince === computer.record.last_activity_at) return;
  await computer.write({ last_activity_at: idleSince });
  computer.activityWrittenAt = computer.on.clock.monotonic();
}

function lookLater(computer: HeldComputer, ms: number): void {
  computer.cancelLook?.();
  computer.cancelLook = computer.on.clock.after(ms, () => {
    const { live } = computer;
    if (live) tryUntilDone(computer, live, () => look(computer, live));
  });
}

/** By the clock as it is now, under the lock: the end of the run, or of a minute. */
async function look(computer: HeldComputer, live: LiveRun): Promise<void> {
  if (live.hasEnded) return; // its end is on its way, or tried again: nothing may come after it, or in its place
  const due = live.due();
  if (due) return endRun(computer, due.reason, due.elapsedMs);
  await charge(computer, completedMinutes(live.elapsedMs), live.elapsedMs);
  lookLater(computer, live.nextLookMs());
  holdAhead(computer, live);
}

/** Nobody waits for it: where a minute is refused, the run is told when it ends. */
function holdAhead(computer: HeldComputer, live: LiveRun): void {
  const { holds } = computer;
  holds?.keepAhead(live.minutesPublished, () => {
    if (computer.live !== live) return;
    const minutes = holds.paidMinutes;
    live.paidMs = minutes === null ? Number.POSITIVE_INFINITY : minutes * MINUTE_MS;
    lookLater(computer, live.nextLookMs());
  });
}

/** On failure again a second later, as long as the run is on. */
function tryUntilDone(computer: HeldComputer, live: LiveRun, work: () => Promise<void>): void {
  const { id, on } = computer;
  exclusively(computer, async () => {
    if (computer.live !== live) return;
    const { state } = computer.record;
    if (state === 'stopping' || state === 'deleting') return finishWhatWasLeft(computer);
    await work();
  }).catch((error: unknown) => {
    if (computer.isGone) return;
    on.logger.warn({ err: error, computer: id }, 'a computer’s transition failed and is tried again');
    computer.cancelRetry?.();
    computer.cancelRetry = on.clock.after(AGAIN_MS, () => {
      if (computer.live === live) tryUntilDone(computer, live, work);
    });
  });
}
