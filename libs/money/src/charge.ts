// A charge: the exact sum of quantity x rate over its lines, rounded once.
import { add, multiply, parseDecimal, type Rational, roundToNano } from './rational.ts';

/** One line of a charge. `quantity` and `rate` are plain decimals; `per` divides (seconds of a minute rate: 60). */
export interface ChargeLine {
  /** The catalog's name of the unit, for example `input_token`. */
  readonly unit: string;
  /** How many units: an integer, or a plain decimal string. */
  readonly quantity: number | string;
  /** Dollars for one unit. */
  readonly rate: string;
  /** The quantity is counted in fractions of the unit: 60 for seconds of a rate per minute. Default 1. */
  readonly per?: number | undefined;
}

/**
 * The cost of the lines in nano-dollars: exact product and sum, rounded once.
 * @throws RangeError for a quantity or a rate that is not a plain decimal from 0 on.
 */
export function charge(lines: readonly ChargeLine[]): bigint {
  let sum: Rational = { num: 0n, den: 1n };
  for (const line of lines) sum = add(sum, lineAmount(line));
  return roundToNano(sum);
}

function lineAmount(line: ChargeLine): Rational {
  const quantity = parseDecimal(String(line.quantity));
  const per = line.per ?? 1;
  if (!Number.isSafeInteger(per) || per < 1) throw new RangeError(`not a whole divisor: ${per}`);
  return multiply(multiply(quantity, parseDecimal(line.rate)), { num: 1n, den: BigInt(per) });
}
