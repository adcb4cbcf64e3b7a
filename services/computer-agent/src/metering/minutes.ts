// The minutes that this agent charges: priced by the record's frozen rates.
import {
  type ComputerRecord,
  type ComputerRun,
  type Event,
  minuteEvent,
  minuteLines,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';

/** Price of one minute of this computer, in nano-dollars. */
export function minuteCost(record: ComputerRecord): bigint {
  return charge(minuteLines(record));
}

/** The event for a minute of a run; the first minute is 0. */
export function chargedMinute(
  record: ComputerRecord,
  run: ComputerRun,
  minute: number,
  time: Date,
): Event<'computer.metered'> {
  const source = '/switchyard/computer-agent';
  return minuteEvent({ record, run, minute, costNano: minuteCost(record), source, time });
}
