// A mark-up on a price list: every rate times 1 + percent / 100, exactly. Nothing is rounded here: a charge is rounded
// once, when its lines are summed.
import { multiply, parseDecimal, type Rational } from './rational.ts';

/** Decimal strings by unit; a unit may have one for each variant, such as the resolutions of a video. */
interface Rates {
  readonly [unit: string]: string | Rates | undefined;
}

/**
 * The same price list with a mark-up.
 * @param percent a plain decimal such as `12.5`; undefined: no mark-up
 * @throws RangeError for a percentage or a rate that is not a plain decimal
 */
export function markUp<R extends object>(rates: R, percent: string | undefined): R {
  if (percent === undefined) return rates;
  const { num, den } = parseDecimal(percent);
  const factor = { num: 100n * den + num, den: 100n * den };
  return timesEach(rates as Rates, factor) as R;
}

function timesEach(rates: Rates, factor: Rational): Rates {
  const entries = Object.entries(rates).map(([unit, rate]) => {
    if (rate === undefined) return [unit, rate];
    return [
      unit,
      typeof rate === 'string' ? toDecimal(multiply(parseDecimal(rate), factor)) : timesEach(rate, factor),
    ];
  });
  return Object.fromEntries(entries) as Rates;
}

/** A plain decimal without trailing zeros; `den` is a power of ten. */
function toDecimal({ num, den }: Rational): string {
  const decimals = den.toString().length - 1;
  const fraction = (num % den).toString().padStart(decimals, '0').replace(/0+$/, '');
  return fraction === '' ? `${num / den}` : `${num / den}.${fraction}`;
}
