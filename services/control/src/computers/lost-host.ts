// Deletes a computer whose host is silent. The last minute is charged, silent time is not. If the host returns, its
// agent finds the record in state `deleting` and removes the container and its files.
import type { Bucket, EventPublisher } from '@switchyard/bus';
import {
  type ComputerRecord,
  computerKey,
  eventIds,
  makeEvent,
  minuteEvent,
  minuteLines,
  startedMinutes,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import type { Clock } from '@switchyard/service';

import { markDeleting } from './records.ts';

const SOURCE = '/switchyard/control';

interface LostHostOptions {
  readonly computers: Bucket<ComputerRecord>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
}

export async function giveUpComputer(
  { computers, events, clock }: LostHostOptions,
  { org, id }: Pick<ComputerRecord, 'org' | 'id'>,
): Promise<void> {
  const time = new Date(clock.now());
  const was = await markDeleting(computers, computerKey(org, id), async (record) => {
    const { run } = record;
    if (!run) return {};
    const costNano = charge(minuteLines(record));
    const total = minutesOwed(record);
    for (let minute = run.minutes_charged; minute < total; minute++)
      await events.publish(minuteEvent({ record, run, minute, costNano, source: SOURCE, time }));
    const charged = total - run.minutes_charged;
    return {
      minutes: record.minutes + charged,
      cost_nano: String(BigInt(record.cost_nano) + costNano * BigInt(charged)),
    };
  });
  if (!was) return;
  const { key_id, host, runs, metadata } = was;
  await events.publish(
    makeEvent({
      name: 'computer.deleted',
      id: eventIds.computer(id, runs, 'deleted'),
      source: SOURCE,
      time,
      data: { computer_id: id, org, key_id, host, tags: metadata },
    }),
  );
}

/** Minutes of the run that had started when the host fell silent. */
function minutesOwed({ state, run }: ComputerRecord): number {
  if (!run) return 0;
  switch (state) {
    case 'running':
      return run.minutes_charged + 1; // the agent charges each minute at its end, so one more had started
    case 'stopping':
      return startedMinutes(run.anchored_ms);
    default:
      return run.minutes_charged; // the computer never ran
  }
}
