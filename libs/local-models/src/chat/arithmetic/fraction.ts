// Exact fractions on BigInt, always reduced, with a bound on their size: 9^9^9 is refused, not computed.

export interface Fraction {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
}

/** Bits of a numerator or denominator: about 6,000 decimal digits. */
const FRACTION_BITS_MAX = 20_000;
/** Digits of a decimal that are written in full; a longer one is shortened. */
const DIGITS_WRITTEN_MAX = 1_000;
const DECIMALS_OF_APPROXIMATION = 12;

/** Arithmetic that has no answer here, in words for the caller. */
export class ArithmeticError extends Error {
  override readonly name = 'ArithmeticError';
}

export function fraction(numerator: bigint, denominator = 1n): Fraction {
  if (denominator === 0n) throw new ArithmeticError('division by zero has no answer');
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n);
  return checked({ numerator: numerator / divisor, denominator: denominator / divisor });
}

/** Reads `12`, `1.5` or `.5`. */
export function parseFraction(digits: string): Fraction {
  const [whole = '', decimals = ''] = digits.split('.');
  return fraction(BigInt(whole + decimals || '0'), 10n ** BigInt(decimals.length));
}

export function add(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

export function negate({ numerator, denominator }: Fraction): Fraction {
  return { numerator: -numerator, denominator };
}

export function multiply(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function divide(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.denominator, a.denominator * b.numerator);
}

/** The remainder with the sign of the divisor, as in mathematics. */
export function modulo(a: Fraction, b: Fraction): Fraction {
  const { numerator, denominator } = divide(a, b);
  const floor = numerator / denominator - (numerator < 0n && numerator % denominator !== 0n ? 1n : 0n);
  return add(a, negate(multiply(b, fraction(floor))));
}

export function power(base: Fraction, exponent: Fraction): Fraction {
  if (exponent.denominator !== 1n) throw new ArithmeticError('I raise to whole powers only');
  const size = exponent.numerator < 0n ? -exponent.numerator : exponent.numerator;
  const bits = Math.max(bitsOf(base.numerator), bitsOf(base.denominator));
  if (bits > 1 && size * BigInt(bits - 1) > BigInt(FRACTION_BITS_MAX)) throw tooLarge();
  // ±1 and 0 may have any exponent: only whether it is odd matters.
  const steps = bits > 1 ? size : size === 0n ? 0n : 2n - (size % 2n);
  const raised = fraction(base.numerator ** steps, base.denominator ** steps);
  return exponent.numerator < 0n ? divide(fraction(1n), raised) : raised;
}

export function factorial({ numerator, denominator }: Fraction): Fraction {
  if (denominator !== 1n || numerator < 0n)
    throw new ArithmeticError('a factorial is of a whole number from 0 up');
  let product = 1n;
  for (let factor = 2n; factor <= numerator; factor += 1n) {
    product *= factor;
    if (bitsOf(product) > FRACTION_BITS_MAX) throw tooLarge();
  }
  return fraction(product);
}

/** The exact root where there is one. */
export function squareRoot({ numerator, denominator }: Fraction): Fraction {
  if (numerator < 0n) throw new ArithmeticError('a negative number has no real square root');
  const root = { numerator: integerRoot(numerator), denominator: integerRoot(denominator) };
  if (root.numerator ** 2n === numerator && root.denominator ** 2n === denominator) return root;
  const scale = 10n ** BigInt(DECIMALS_OF_APPROXIMATION);
  const near = fraction(integerRoot((numerator * scale * scale) / denominator), scale);
  throw new ArithmeticError(`that root is irrational, about ${formatFraction(near)}`);
}

/** `42`, `0.125`, or for an endless decimal `0.333333333333… (exactly 1/3)`. */
export function formatFraction(value: Fraction): string {
  const { numerator, denominator } = value;
  const decimals = decimalsNeeded(denominator);
  if (decimals === null) return `${roundedDecimal(value)}… (exactly ${numerator}/${denominator})`;
  const text = decimalText(numerator * (10n ** BigInt(decimals) / denominator), decimals);
  return text.length <= DIGITS_WRITTEN_MAX ? text : shortened(text);
}

/** The nearest double: for JSON, which knows no fractions. */
export function toNumber({ numerator, denominator }: Fraction): number {
  const direct = Number(numerator) / Number(denominator);
  return Number.isFinite(direct) ? direct : Number.MAX_SAFE_INTEGER;
}

function checked(value: Fraction): Fraction {
  if (Math.max(bitsOf(value.numerator), bitsOf(value.denominator)) > FRACTION_BITS_MAX) throw tooLarge();
  return value;
}

function tooLarge(): ArithmeticError {
  return new ArithmeticError('that number is too long to write down');
}

export function bitsOf(value: bigint): number {
  return (value < 0n ? -value : value).toString(16).length * 4;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x === 0n ? 1n : x;
}

/** Floor of the square root, by Newton's steps from above. */
function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt(Math.ceil(bitsOf(value) / 2));
  for (;;) {
    const next = (root + value / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}

/** Decimals that write the fraction exactly; null when it is endless (the denominator has another prime than 2 and 5). */
function decimalsNeeded(denominator: bigint): number | null {
  let rest = denominator;
  let twos = 0;
  let fives = 0;
  for (; rest % 2n === 0n; rest /= 2n) twos += 1;
  for (; rest % 5n === 0n; rest /= 5n) fives += 1;
  return rest === 1n ? Math.max(twos, fives) : null;
}

function decimalText(scaled: bigint, decimals: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(decimals + 1, '0');
  const sign = scaled < 0n ? '-' : '';
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function roundedDecimal({ numerator, denominator }: Fraction): string {
  const scaled = numerator * 10n ** BigInt(DECIMALS_OF_APPROXIMATION);
  const half = numerator < 0n ? -denominator : denominator;
  return decimalText((2n * scaled + half) / (2n * denominator), DECIMALS_OF_APPROXIMATION);
}

function shortened(text: string): string {
  const digits = text.replace(/[-.]/g, '').length;
  return `${text.slice(0, 50)}…${text.slice(-20)} (${digits} digits)`;
}
