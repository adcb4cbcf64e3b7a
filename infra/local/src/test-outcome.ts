/** The outcome of a test run, from vitest's JSON report. */
import { z } from 'zod';

export interface TestOutcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of the report that is used here. */
const testReport = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
});

/**
 * Counts the tests of a report (its text; undefined if vitest wrote none). A run that failed without a failed test counts as
 * one failure: a file could not run, or there was an unhandled error.
 */
export function countTests(report: string | undefined, exitCode: number): TestOutcome {
  const ended = exitCode === 0 ? 0 : 1;
  if (report === undefined) return { passed: 0, failed: ended, skipped: 0 };
  const counts = testReport.parse(JSON.parse(report));
  return {
    passed: counts.numPassedTests,
    failed: counts.numFailedTests || ended,
    skipped: counts.numPendingTests + counts.numTodoTests,
  };
}

/** The last line of a test run, which scripts read. */
export function outcomeLine({ passed, failed, skipped }: TestOutcome): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

/** Whether at least one test ran and none failed. */
export function isSuccess({ passed, failed }: TestOutcome): boolean {
  return failed === 0 && passed > 0;
}
