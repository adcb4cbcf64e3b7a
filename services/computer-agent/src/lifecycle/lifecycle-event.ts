// Events of a computer's transitions. Each id names the run and the change, so a repeated event is recognized.
import { type ComputerRecord, type Event, eventIds, makeEvent } from '@switchyard/contracts';

export const SOURCE = '/switchyard/computer-agent';

type Change = 'created' | 'started' | 'stopped';

export function changedEvent(record: ComputerRecord, change: Change, time: Date): Event {
  const { id, org, key_id, host, runs, stop_reason, metadata } = record;
  const stopped = change === 'stopped';
  return makeEvent({
    name: `computer.${change}`,
    id: eventIds.computer(id, runs, change),
    source: SOURCE,
    time,
    data: {
      computer_id: id,
      org,
      key_id,
      host,
      status: stopped ? 'stopped' : 'running',
      run: runs,
      stop_reason: stopped ? stop_reason : null,
      tags: metadata,
    },
  });
}

export function deletedEvent({ id, org, key_id, host, runs, metadata }: ComputerRecord, time: Date): Event {
  return makeEvent({
    name: 'computer.deleted',
    id: eventIds.computer(id, runs, 'deleted'),
    source: SOURCE,
    time,
    data: { computer_id: id, org, key_id, host, tags: metadata },
  });
}
