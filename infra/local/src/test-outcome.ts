/** What a test run came to, from vitest's JSON report. */
import { z } from 'zod';

export interface TestOutcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What we read of the report; the rest is vitest's affair. */
const testReport = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

/**
 * Counts the tests of a report (its text; undefined when vitest wrote none). A file that could not be run counts
 * as a failure, and so does a run that vitest calls failed without a failed test, as for an unhandled error.
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

/** The last line of a test run: scripts read it. */
export function outcomeLine({ passed, failed, skipped }: TestOutcome): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

/** A run without a failure, in which something ran. */
export function isSuccess({ passed, failed }: TestOutcome): boolean {
  return failed === 0 && passed > 0;
}
