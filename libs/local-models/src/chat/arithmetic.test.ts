import { describe, expect, it } from 'vitest';
import { evaluate, findExpression } from './arithmetic.ts';

describe('evaluate', () => {
  it.each([
    ['6*7', 42],
    ['0.1 + 0.2', 0.3],
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['8 / 2 / 2', 2],
    ['10 - 4 - 3', 3],
    ['-2^2', -4],
    ['2^-2', 0.25],
    ['2^3^2', 512],
    ['17 % 5', 2],
    ['-7 % 3', 2],
    ['50% * 80', 40],
    ['2 * -3', -6],
    ['2^-1*4', 2],
    ['1/3', 0.333333333333333],
    ['1/0', Infinity],
  ])('computes %s', (text, value) => {
    expect(evaluate(text)).toBe(value);
  });

  it.each(['', '6', '6*', '*6', '(1 + 2', '1 2', '1..2', '()', 'six'])('finds no sum in %j', (text) => {
    expect(evaluate(text)).toBeNull();
  });

  it.each([
    ['brackets', `${'('.repeat(5_000)}1${')'.repeat(5_000)}`],
    ['signs', `${'-'.repeat(5_000)}1`],
    ['powers', '2^'.repeat(5_000)],
  ])('survives deep nesting of %s', (_, text) => {
    expect(evaluate(text)).toBeNull();
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
