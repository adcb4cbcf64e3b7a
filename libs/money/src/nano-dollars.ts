// The unit of all money in Switchyard: integer nano-dollars (1e-9 USD) in a BigInt, and its two written forms.

export const NANOS_PER_DOLLAR = 1_000_000_000n;

/**
 * A plain decimal in dollars, never an exponent, without trailing zeros: 12500n -> "0.0000125".
 * This is the form of headers; in JSON it may be spliced in as a number.
 */
export function formatDollars(nanos: bigint): string {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = (size % NANOS_PER_DOLLAR).toString().padStart(9, '0').replace(/0+$/, '');
  const whole = size / NANOS_PER_DOLLAR;
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

/**
 * Dollars as a JSON number with at most 9 decimals. The double nearest to a 9-decimal figure prints as that
 * figure as long as it has at most 15 digits, that is below one million dollars.
 */
export function dollarsToJson(nanos: bigint): number {
  return Number(formatDollars(nanos));
}

/**
 * Nano-dollars from a JSON number or a decimal string in dollars, exactly.
 * @throws RangeError when it is not a decimal, or has more than 9 decimals.
 */
export function parseDollars(value: number | string): bigint {
  const text = typeof value === 'number' ? numberToDecimal(value) : value;
  const match = /^(-?)(\d{1,18})(?:\.(\d{1,9})0*)?$/.exec(text);
  if (!match) throw new RangeError(`not an amount in dollars with at most 9 decimals: ${text}`);
  const [, sign, whole = '0', fraction = ''] = match;
  const nanos = BigInt(whole) * NANOS_PER_DOLLAR + BigInt(fraction.padEnd(9, '0'));
  return sign === '-' ? -nanos : nanos;
}

function numberToDecimal(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite amount: ${value}`);
  const text = String(value);
  // JavaScript writes 1e-7 and smaller with an exponent; such a number has at most 9 decimals here, or is refused.
  return text.includes('e') ? value.toFixed(18).replace(/0+$/, '').replace(/\.$/, '') : text;
}
