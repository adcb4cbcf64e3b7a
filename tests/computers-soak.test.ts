// The soak of `npm run soak:computers` in short: no times are judged here, but the bill, the answers and what is left.
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSoak, soakSettings } from '../benchmarks/src/soak/soak.ts';

const COMPUTERS = 8;
const STORM_S = 30;
const TEST_MS_MAX = 600_000;
let stack: TestStack;

beforeAll(async () => {
  stack = await startStack({ env: soakSettings(COMPUTERS) });
});
afterAll(async () => {
  await stack?.stop();
});

test('through bombs, a killed agent and removed containers every answer is right, every minute is billed once, nothing is left', {
  timeout: TEST_MS_MAX,
}, async () => {
  const said: string[] = [];
  const report = await runSoak({
    stack,
    computers: COMPUTERS,
    bombers: 2,
    calmSeconds: 3,
    stormSeconds: STORM_S,
    seed: 6,
    say: (line) => said.push(line),
  });
  expect(report.wrong).toEqual([]);
  expect(report.account.differences).toEqual([]);
  expect(report.leftBehind).toEqual([]);
  // It was a storm.
  expect(report.faults.outages.length).toBeGreaterThan(0);
  expect(report.faults.removals).toBeGreaterThan(0);
  expect(report.counts.bombs).toBeGreaterThan(2);
  expect(report.account.runs).toBeGreaterThan(COMPUTERS);
});
