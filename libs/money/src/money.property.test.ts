// Properties of money, against exact sums computed another way: as integers over a common denominator.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChargeLine, charge, dollarsToJson, formatDollars, parseDollars } from './index.ts';

const RUNS = 2_000;
/** Maximum decimals of a quantity and of a rate. */
const QUANTITY_DECIMALS = 3;
const RATE_DECIMALS = 18;

interface DrawnLine {
  line: ChargeLine;
  /** The line's amount is `units / (divisor x 10^21)` dollars, exactly. */
  units: bigint;
  divisor: bigint;
}

const digits = (max: number) => fc.bigInt({ min: 0n, max: 10n ** BigInt(max) - 1n });

function decimal(scaled: bigint, decimals: number): string {
  const text = scaled.toString().padStart(decimals + 1, '0');
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

const drawnLine: fc.Arbitrary<DrawnLine> = fc
  .record({
    quantity: digits(12),
    rate: digits(RATE_DECIMALS + 4),
    per: fc.constantFrom(undefined, 1, 60, 1_000_000),
    whole: fc.boolean(),
  })
  .map(({ quantity, rate, per, whole }) => {
    const scaled = whole ? quantity * 1_000n : quantity;
    const line = {
      unit: 'unit',
      quantity: whole ? Number(quantity) : decimal(quantity, QUANTITY_DECIMALS),
      rate: decimal(rate, RATE_DECIMALS),
      ...(per === undefined ? {} : { per }),
    };
    return { line, units: scaled * rate, divisor: BigInt(per ?? 1) };
  });
const drawnLines = fc.array(drawnLine, { maxLength: 6 });

/** All divisors divide this, so that a sum needs no fraction. */
const COMMON = 60_000_000n;
const NANO = 10n ** BigInt(QUANTITY_DECIMALS + RATE_DECIMALS - 9) * COMMON;

/** The exact sum, in units of 1/NANO nano-dollar. */
function exact(lines: readonly DrawnLine[]): bigint {
  return lines.reduce((sum, { units, divisor }) => sum + units * (COMMON / divisor), 0n);
}

test('a charge is the exact sum of its lines, rounded once to the nearest nano-dollar', () => {
  fc.assert(
    fc.property(drawnLines, (lines) => {
      const difference = charge(lines.map(({ line }) => line)) * NANO - exact(lines);
      expect(2n * difference).toBeGreaterThanOrEqual(-NANO);
      expect(2n * difference).toBeLessThanOrEqual(NANO);
    }),
    { numRuns: RUNS },
  );
});

// The only test with halves: another rule for them changes this one.
test('exact halves go up', () => {
  fc.assert(
    fc.property(digits(12), (nanos) => {
      const halves = (2n * nanos + 1n).toString();
      expect(charge([{ unit: 'unit', quantity: halves, rate: '0.0000000005' }])).toBe(nanos + 1n);
    }),
    { numRuns: RUNS },
  );
});

test('neither the order of lines nor a zero line changes a charge', () => {
  fc.assert(
    fc.property(
      drawnLines.chain((lines) =>
        fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length })),
      ),
      ([lines, shuffled]) => {
        const nothing: ChargeLine = { unit: 'unit', quantity: 0, rate: '3.5', per: 7 };
        const sum = charge(lines.map(({ line }) => line));
        expect(charge([...shuffled.map(({ line }) => line), nothing])).toBe(sum);
      },
    ),
    { numRuns: RUNS },
  );
});

test('splitting a call in two changes its cost by at most one nano-dollar', () => {
  fc.assert(
    fc.property(drawnLines, drawnLines, (one, other) => {
      const cost = (lines: readonly DrawnLine[]) => charge(lines.map(({ line }) => line));
      const difference = cost([...one, ...other]) - cost(one) - cost(other);
      expect(difference >= -1n && difference <= 1n).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

test('dollars are written as plain decimals and read back to the same nano-dollar, whatever their size', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanos) => {
      const text = formatDollars(nanos);
      expect(text).toMatch(/^-?\d+(\.\d{0,8}[1-9])?$/);
      expect(parseDollars(text)).toBe(nanos);
    }),
    { numRuns: RUNS },
  );
});

test('below a million dollars a JSON number carries every nano-dollar', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n }), (nanos) => {
      expect(parseDollars(JSON.parse(JSON.stringify(dollarsToJson(nanos))) as number)).toBe(nanos);
    }),
    { numRuns: RUNS },
  );
});
