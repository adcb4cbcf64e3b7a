// The minutes of a run, each charged once.
import { chargedMinute, minuteCost } from '../metering/minutes.ts';
import type { HeldComputer } from './held-computer.ts';

/**
 * Publishes the run's minutes up to `minutes`, then counts them in the record. A crash in between publishes the same
 * ids again. Under the lock.
 */
export async function charge(computer: HeldComputer, minutes: number, elapsedMs: number): Promise<void> {
  const { live, run, on } = computer;
  const published = Math.max(run.minutes_charged, live?.minutesPublished ?? 0);
  for (let minute = published; minute < minutes; minute++) {
    computer.holds?.spend(minute);
    await on.events.publish(chargedMinute(computer.record, run, minute, computer.now));
    if (live) live.minutesPublished = minute + 1;
  }
  const total = Math.max(minutes, published);
  const charged = total - run.minutes_charged;
  if (charged === 0) return;
  const { record } = computer;
  await computer.write({
    minutes: record.minutes + charged,
    cost_nano: String(BigInt(record.cost_nano) + minuteCost(record) * BigInt(charged)),
    run: {
      ...run,
      minutes_charged: total,
      anchored_ms: elapsedMs,
      anchored_at: computer.now.toISOString(),
    },
  });
}
