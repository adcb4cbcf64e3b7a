import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate } from './expression.ts';
import { findExpression } from './find-expression.ts';
import { ArithmeticError, formatFraction } from './fraction.ts';

function compute(text: string): string | null {
  const evaluation = evaluate(text);
  return evaluation && formatFraction(evaluation.value);
}

describe('evaluate', () => {
  it.each([
    ['6*7', '42'],
    ['0.1 + 0.2', '0.3'],
    ['2 + 3 * 4', '14'],
    ['(2 + 3) * 4', '20'],
    ['8 / 2 / 2', '2'],
    ['10 - 4 - 3', '3'],
    ['-2^2', '-4'],
    ['2^-2', '0.25'],
    ['2^3^2', '512'],
    ['17 % 5', '2'],
    ['-7 % 3', '2'],
    ['50% * 80', '40'],
    ['5!', '120'],
    ['sqrt 1.44', '1.2'],
    ['2 * -3', '-6'],
    ['1/3', '0.333333333333… (exactly 1/3)'],
    ['-2/3', '-0.666666666667… (exactly -2/3)'],
    ['2^200', (2n ** 200n).toString()],
  ])('computes %s exactly', (text, value) => {
    expect(compute(text)).toBe(value);
  });

  it.each(['', '6*', '*6', '(1 + 2', '1 2', '1..2', '()', 'six'])('takes %j for no expression', (text) => {
    expect(evaluate(text)).toBeNull();
  });

  it.each(['1/0', '2^0.5', '9^9^9', '99999!', 'sqrt 2', 'sqrt -4', '0^-1'])('refuses %s in words', (text) => {
    expect(() => evaluate(text)).toThrow(ArithmeticError);
  });

  it('survives deep nesting', () => {
    expect(() => evaluate(`${'('.repeat(5_000)}1${')'.repeat(5_000)}`)).toThrow(ArithmeticError);
  });

  it('agrees with BigInt on sums and products', () => {
    const integer = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
    fc.assert(
      fc.property(integer, integer, integer, (a, b, c) => {
        expect(compute(`(${a}) + (${b}) * (${c})`)).toBe((a + b * c).toString());
      }),
    );
  });
});

describe('findExpression', () => {
  it.each([
    ['What is six times 7?', '6 * 7'],
    ['how much is 12% of 80', '12% * 80'],
    ['Please compute 2 + 3 * (4 - 1).', '2 + 3 * (4 - 1)'],
    ['3 x 4', '3 * 4'],
    ['What is 1,234 plus 1?', '1234 + 1'],
    ['What is 100 divided by 8?', '100 / 8'],
    ['What is 5 squared?', '5 ^ 2'],
  ])('reads %j', (text, expression) => {
    expect(findExpression(text)?.expression).toBe(expression);
  });

  it.each([
    'pages 3-5 are missing',
    'Open 24/7',
    'We met on 2026-11-21',
    'Call 555-123-4567',
    'I have 3 cats',
    'I won 3!',
  ])('leaves %j alone', (text) => {
    expect(findExpression(text)).toBeNull();
  });
});
