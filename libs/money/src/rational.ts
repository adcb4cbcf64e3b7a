// Exact rational arithmetic on BigInt, from decimal rates to an integer number of nano-dollars.
import { NANOS_PER_DOLLAR } from './nano-dollars.ts';

/** A non-negative fraction, not reduced; `den` is positive. */
export interface Rational {
  readonly num: bigint;
  readonly den: bigint;
}

const DECIMAL = /^(\d{1,30})(?:\.(\d{1,30}))?$/;

/**
 * Reads a plain decimal (`"0.00000015"`, `"3"`) exactly.
 * @throws RangeError for anything else: signs, exponents, blanks, more than 30 digits on a side.
 */
export function parseDecimal(text: string): Rational {
  const match = DECIMAL.exec(text);
  if (!match) throw new RangeError(`not a plain decimal: ${JSON.stringify(text)}`);
  const [, whole = '', fraction = ''] = match;
  return { num: BigInt(whole + fraction), den: 10n ** BigInt(fraction.length) };
}

export function multiply(a: Rational, b: Rational): Rational {
  return { num: a.num * b.num, den: a.den * b.den };
}

export function add(a: Rational, b: Rational): Rational {
  return a.den === b.den
    ? { num: a.num + b.num, den: a.den }
    : { num: a.num * b.den + b.num * a.den, den: a.den * b.den };
}

/**
 * The rounding rule of all charges: dollars to the nearest nano-dollar, halves up. A refund negates a booked amount and
 * is never rounded again.
 */
export function roundToNano({ num, den }: Rational): bigint {
  return (2n * num * NANOS_PER_DOLLAR + den) / (2n * den);
}
