import { expect, test } from 'vitest';
import { countTests, isSuccess, outcomeLine } from './test-outcome.ts';

const report = ({ passed = 0, failed = 0, pending = 0, todo = 0 }) =>
  JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: pending,
    numTodoTests: todo,
  });

test('the last line counts tests, and names skipped ones only where there are any', () => {
  expect(outcomeLine(countTests(report({ passed: 3, failed: 1 }), 1))).toBe('3 passed, 1 failed');
  const skipped = countTests(report({ passed: 1, pending: 2, todo: 1 }), 0);
  expect(outcomeLine(skipped)).toBe('1 passed, 0 failed, 3 skipped');
  expect(isSuccess(skipped)).toBe(true);
});

test('a failed run without a failed test is a failure: a file that cannot be loaded, or no report at all', () => {
  expect(countTests(report({ passed: 1 }), 1)).toMatchObject({ passed: 1, failed: 1 });
  expect(countTests(undefined, 1)).toMatchObject({ passed: 0, failed: 1 });
});

test('a run that executed no test is no success', () => {
  expect(isSuccess(countTests(report({}), 0))).toBe(false);
  expect(isSuccess(countTests(report({ pending: 1 }), 0))).toBe(false);
});
