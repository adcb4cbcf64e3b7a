// Deletes a computer whose host is silent. The last minute is charged, silent time is not. If the host returns, its
// agent finds the record in state `deleting` and removes the container and its files.
import type { EventPublisher } from '@switchyard/bus';
import {
  type ComputerRecord,
  type ComputerRun,
  eventIds,
  minuteEvent,
  minuteLines,
  startedMinutes,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import { controlEvent, EVENT_SOURCE } from '../changes/administered.ts';
import { countMinute, type MinuteCountDeps } from './minute-count.ts';
import type { PlacedRecords } from './placed-records.ts';
import { markDeleting } from './records.ts';

interface LostHostOptions extends MinuteCountDeps {
  readonly records: Pick<PlacedRecords, 'placement' | 'placements' | 'computers'>;
  readonly events: Pick<EventPublisher, 'publish'>;
}

export async function deleteLostComputer(
  { records, minutes, events, clock }: LostHostOptions,
  { org, id }: Pick<ComputerRecord, 'org' | 'id'>,
): Promise<void> {
  const time = new Date(clock.now());
  const placement = await records.placement(org, id);
  if (!placement) return;
  const costNano = charge(minuteLines(placement));
  const was = await markDeleting(records, placement, async (record) => {
    const { run } = record;
    if (!run) return {};
    const owed = minutesOwed(record, run, clock.now());
    let minute = run.minutes_charged;
    for (; minute < owed; minute++) {
      // The host wrote `run`: check it.
      if (!(await countMinute({ minutes, records, clock }, placement, { run: run.number, minute }, time)))
        break;
      await events.publish(
        minuteEvent({ record: placement, run, minute, costNano, source: EVENT_SOURCE, time }),
      );
    }
    const charged = minute - run.minutes_charged;
    return {
      minutes: record.minutes + charged,
      cost_nano: String(BigInt(record.cost_nano) + costNano * BigInt(charged)),
    };
  });
  if (!was) return;
  const { key_id, host, metadata } = placement;
  await events.publish(
    controlEvent('computer.deleted', {
      id: eventIds.computer(id, was.runs, 'deleted'),
      now: time.getTime(),
      data: { computer_id: id, org, key_id, host, tags: metadata },
    }),
  );
}

/** Minutes of the run that had started when the host fell silent. */
function minutesOwed({ state, created_at }: ComputerRecord, run: ComputerRun, nowMs: number): number {
  switch (state) {
    case 'running':
      return run.minutes_charged + 1; // the agent charges each minute at its end, so one more had started
    case 'stopping':
      return startedMinutes(Math.min(run.anchored_ms, nowMs - Date.parse(created_at)));
    default:
      return run.minutes_charged; // the computer never ran
  }
}
