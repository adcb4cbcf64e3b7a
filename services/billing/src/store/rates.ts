// The rates that a charge was made from, as the ledger keeps them for statements.
import type { EventData } from '@switchyard/contracts';

/** Of what was counted: `<unit> <dollars>`, or `<unit> <dollars>/<parts>` where parts of a unit were counted. */
export function ratesOf(lines: EventData<'call.completed'>['lines']): { rates?: string[] } {
  const rates = lines
    .filter(({ quantity }) => Number(quantity) !== 0)
    .map(({ unit, rate, per = 1 }) => (per === 1 ? `${unit} ${rate}` : `${unit} ${rate}/${per}`));
  return rates.length > 0 ? { rates } : {};
}
