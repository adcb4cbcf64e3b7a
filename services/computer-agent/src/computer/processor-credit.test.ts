// Who is heavy, and for how long.
import { expect, test } from 'vitest';
import { CREDIT_RATE, ProcessorCredit, REST_MS_MAX, REST_MS_MIN, REST_RATE } from './processor-credit.ts';

const TURN_MS = 100;
/** Turns of 100 ms at so many cores until it is heavy, or light again; at most so many. */
function turnsUntil(credit: ProcessorCredit, heavy: boolean, cores: number, most = 1_000): number {
  for (let turn = 0; turn < most; turn++) {
    if (credit.heavy === heavy) return turn;
    credit.spend(cores * TURN_MS, TURN_MS);
  }
  return most;
}

test('a computer is heavy when it used its credit beyond what it gains, the sooner the more it uses', () => {
  expect(turnsUntil(new ProcessorCredit(), true, 2)).toBe(1);
  expect(turnsUntil(new ProcessorCredit(), true, 1)).toBe(2);
  expect(turnsUntil(new ProcessorCredit(), true, 0.5)).toBe(4);
});

test('one that uses no more than the smallest guarantee never is', () => {
  expect(turnsUntil(new ProcessorCredit(), true, CREDIT_RATE)).toBe(1_000);
});

test.each([
  [100, REST_MS_MIN],
  [4_000, 4_000],
  [100_000, REST_MS_MAX],
])('one that computed for %i ms as a heavy one is light again after %i ms of rest', (computedMs, restMs) => {
  const credit = new ProcessorCredit();
  turnsUntil(credit, true, 2);
  for (let passedMs = 0; passedMs < computedMs; passedMs += TURN_MS) credit.spend(2 * TURN_MS, TURN_MS);
  expect(turnsUntil(credit, false, 0) * TURN_MS).toBe(restMs);
  expect(turnsUntil(credit, true, 1)).toBe(2);
  expect(turnsUntil(credit, false, 0) * TURN_MS).toBe(REST_MS_MIN); // what it computed before is forgotten
});

test('a pause that is too short is none: one that computes again and again is heavy all the time', () => {
  const credit = new ProcessorCredit();
  turnsUntil(credit, true, 2);
  for (let round = 0; round < 10; round++) {
    for (let passedMs = 0; passedMs < 3_000; passedMs += TURN_MS) credit.spend(2 * TURN_MS, TURN_MS);
    for (let passedMs = 0; passedMs < 2_000; passedMs += TURN_MS) credit.spend(0, TURN_MS);
    expect(credit.heavy).toBe(true);
  }
});

test('one that begins heavy is so until it has rested', () => {
  expect(turnsUntil(new ProcessorCredit(true), false, 0) * TURN_MS).toBe(REST_MS_MIN);
});

test('one that goes on computing stays heavy, however little of the processor others leave it', () => {
  const credit = new ProcessorCredit();
  turnsUntil(credit, true, 2);
  expect(turnsUntil(credit, false, REST_RATE)).toBe(1_000);
  for (let turn = 0; turn < 1_000; turn++) credit.spend(turn % 9 === 0 ? TURN_MS : 0, TURN_MS);
  expect(credit.heavy).toBe(true);
});
