import { expect, test } from 'vitest';
import { chancesOf } from './decision-chances.ts';

test('only a boolean answer is drawn as true and false', () => {
  expect(chancesOf({ type: 'boolean', probability: 0.75 })).toEqual({ true: 0.75, false: 0.25 });
  expect(chancesOf({ type: 'refusal', probability: 0 })).toEqual({});
  expect(chancesOf({ type: 'choice', choice: 'refunds', probability: 0.9 })).toEqual({});
  expect(chancesOf({ type: 'score', score: 1.5, probability: 0.5 })).toEqual({});
  const probabilities = { refunds: 0.9, sales: 0.1 };
  expect(chancesOf({ type: 'choice', choice: 'refunds', probability: 0.9, probabilities })).toEqual(
    probabilities,
  );
});
