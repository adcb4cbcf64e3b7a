// The price of the minutes that this agent charges, by the record's frozen rates.
import { type ComputerRecord, minuteLines } from '@switchyard/contracts';
import { charge } from '@switchyard/money';

/** Price of one minute of this computer, in nano-dollars. */
export function minuteCost(record: ComputerRecord): bigint {
  return charge(minuteLines(record));
}
