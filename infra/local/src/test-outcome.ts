/** The outcome of a test run, from vitest's JSON report. */
import { z } from 'zod';

export interface TestOutcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of the report that is used here. */
const testReport = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

/**
 * Counts the tests of a report (its text; undefined if vitest wrote none). A file that could not run counts as a
 * failure. So does a run that failed without a failed test, for example by an unhandled error.
 */
export function countTests(report: string | undefined, exitCode: number): TestOutcome {
  const files = report === undefined ? [] : testReport.parse(JSON.parse(report)).testResults;
  const statuses = files.flatMap((file) => file.assertionResults.map(({ status }) => status));
  const count = (...wanted: string[]) => statuses.filter((status) => wanted.includes(status)).length;
  const broken = files.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((result) => result.status === 'failed'),
  ).length;
  const failed = count('failed') + broken;
  return {
    passed: count('passed'),
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: count('skipped', 'pending', 'todo', 'disabled'),
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
