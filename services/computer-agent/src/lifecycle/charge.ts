// Charges the minutes of a run, each once.
import { minuteEvent } from '@switchyard/contracts';
import { minuteCost } from '../metering/minutes.ts';
import { RecordTaken } from '../store/computer-records.ts';
import type { Computer } from './computer.ts';
import { SOURCE } from './lifecycle-event.ts';

/**
 * Publishes the run's minutes up to `minutes`, then counts them in the record. After a crash in between, the same ids
 * are published again. Call under the lock.
 */
export async function chargeMinutes(computer: Computer, minutes: number, elapsedMs: number): Promise<void> {
  const { run, recordedRun, deps } = computer;
  const costNano = minuteCost(computer.record);
  const published = Math.max(recordedRun.minutes_charged, run?.minutesPublished ?? 0);
  // The last write failed. Control may have taken the record since, and charged the next minute itself.
  if (published < minutes) await countMinutes(computer, published, elapsedMs).catch(unlessTaken);
  for (let minute = published; minute < minutes; minute++) {
    run?.holds.spend(minute);
    const { record, now: time } = computer;
    await deps.events.publish(
      minuteEvent({ record, run: recordedRun, minute, costNano, source: SOURCE, time }),
    );
    if (run) run.minutesPublished = minute + 1;
  }
  await countMinutes(computer, Math.max(minutes, published), elapsedMs);
}

/** Counts the run's published minutes in the record, unless it has them. */
async function countMinutes(computer: Computer, total: number, elapsedMs: number): Promise<void> {
  const { record, recordedRun } = computer;
  const charged = total - recordedRun.minutes_charged;
  if (charged === 0) return;
  await computer.write({
    minutes: record.minutes + charged,
    cost_nano: String(BigInt(record.cost_nano) + minuteCost(record) * BigInt(charged)),
    run: {
      ...recordedRun,
      minutes_charged: total,
      anchored_ms: elapsedMs,
      anchored_at: computer.now.toISOString(),
    },
  });
}

/** While the store is away, minutes are published nevertheless. */
function unlessTaken(error: unknown): void {
  if (error instanceof RecordTaken) throw error;
}
