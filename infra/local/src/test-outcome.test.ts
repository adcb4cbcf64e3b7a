import { expect, test } from 'vitest';
import { countTests, isSuccess, outcomeLine } from './test-outcome.ts';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((outcome) => ({ status: outcome })),
});
const report = (...files: ReturnType<typeof file>[]) => JSON.stringify({ testResults: files });

test('the last line counts tests, and names skipped ones only where there are any', () => {
  const outcome = countTests(
    report(file('passed', 'passed', 'passed'), file('failed', 'passed', 'failed')),
    1,
  );
  expect(outcomeLine(outcome)).toBe('3 passed, 1 failed');
  const skipped = countTests(report(file('passed', 'passed', 'pending', 'todo', 'skipped')), 0);
  expect(outcomeLine(skipped)).toBe('1 passed, 0 failed, 3 skipped');
  expect(isSuccess(skipped)).toBe(true);
});

test('a file that could not be loaded is a failure', () => {
  expect(countTests(report(file('passed', 'passed'), file('failed')), 1)).toMatchObject({
    passed: 1,
    failed: 1,
  });
});

test('a failed run without a failed test is a failure: an unhandled error, or no report at all', () => {
  expect(countTests(report(file('passed', 'passed')), 1)).toMatchObject({ passed: 1, failed: 1 });
  expect(countTests(undefined, 1)).toMatchObject({ passed: 0, failed: 1 });
});

test('a run that executed no test is no success', () => {
  expect(isSuccess(countTests(report(), 0))).toBe(false);
  expect(isSuccess(countTests(report(file('passed', 'skipped')), 0))).toBe(false);
});
