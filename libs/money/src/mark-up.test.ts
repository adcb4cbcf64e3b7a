import fc from 'fast-check';
import { expect, test } from 'vitest';
import { charge, markUp } from './index.ts';

test('multiplies every rate exactly, including those of variants', () => {
  expect(
    markUp(
      {
        input_token: '0.00000015',
        output_token: '3',
        second: { '480p': '0.05', '720p': '0.10' },
        none: undefined,
      },
      '12.5',
    ),
  ).toEqual({
    input_token: '0.00000016875',
    output_token: '3.375',
    second: { '480p': '0.05625', '720p': '0.1125' },
    none: undefined,
  });
});

test.each([
  ['0.000000000000000001', '0.01', '0.0000000000000000010001'],
  ['999999999999.999999999999999999', '1000', '10999999999999.999999999999999989'],
  ['0.3', '33.33', '0.39999'],
  ['0', '12.5', '0'],
  ['2.50', '0', '2.5'],
])('%s with %s percent is %s', (rate, percent, expected) => {
  expect(markUp({ unit: rate }, percent)).toEqual({ unit: expected });
});

test('without a mark-up the list is the same object', () => {
  const list = { unit: '0.10' };
  expect(markUp(list, undefined)).toBe(list);
});

test('refuses all but plain decimals', () => {
  expect(() => markUp({ unit: '1e-9' }, '10')).toThrow(RangeError);
  expect(() => markUp({ unit: '1' }, '10 %')).toThrow(RangeError);
});

test('a charge at marked-up rates is the exact list price times 1 + percent / 100, rounded once', () => {
  const amount = (max: bigint) => fc.bigInt({ min: 0n, max });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(amount(10n ** 9n), amount(10n ** 15n)), { maxLength: 5 }),
      amount(100_000n),
      (lines, hundredths) => {
        const decimal = (scaled: bigint, decimals: number) => {
          const text = scaled.toString().padStart(decimals + 1, '0');
          return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
        };
        const percent = decimal(hundredths, 2);
        const marked = lines.map(([quantity, rate]) => {
          const { unit } = markUp({ unit: decimal(rate, 15) }, percent);
          return { unit: 'unit', quantity: quantity.toString(), rate: unit };
        });
        // In parts of 10^-19 dollars: 15 decimals of the rate, 4 of the factor.
        const parts = lines.reduce(
          (sum, [quantity, rate]) => sum + quantity * rate * (10_000n + hundredths),
          0n,
        );
        const exact = { unit: 'part', quantity: String(parts), rate: '0.0000000000000000001' };
        expect(charge(marked)).toBe(charge([exact]));
      },
    ),
    { numRuns: 2_000 },
  );
});
