// Charges the minutes of a run, each once.
import { minuteEvent } from '@switchyard/contracts';
import { minuteCost } from '../metering/minutes.ts';
import type { Computer } from './computer.ts';

const SOURCE = '/switchyard/computer-agent';

/**
 * Publishes the run's minutes up to `minutes`, then counts them in the record. After a crash in between, the same ids
 * are published again. Call under the lock.
 */
export async function chargeMinutes(computer: Computer, minutes: number, elapsedMs: number): Promise<void> {
  const { run, recordedRun, deps } = computer;
  const costNano = minuteCost(computer.record);
  const published = Math.max(recordedRun.minutes_charged, run?.minutesPublished ?? 0);
  for (let minute = published; minute < minutes; minute++) {
    run?.holds.spend(minute);
    const { record, now: time } = computer;
    await deps.events.publish(
      minuteEvent({ record, run: recordedRun, minute, costNano, source: SOURCE, time }),
    );
    if (run) run.minutesPublished = minute + 1;
  }
  const total = Math.max(minutes, published);
  const charged = total - recordedRun.minutes_charged;
  if (charged === 0) return;
  const { record } = computer;
  await computer.write({
    minutes: record.minutes + charged,
    cost_nano: String(BigInt(record.cost_nano) + costNano * BigInt(charged)),
    run: {
      ...recordedRun,
      minutes_charged: total,
      anchored_ms: elapsedMs,
      anchored_at: computer.now.toISOString(),
    },
  });
}
