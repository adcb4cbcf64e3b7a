import { expect, test } from 'vitest';
import { createBuildProgress, inWords, type Progress } from './build-progress.ts';

const DOCKERFILE = `# a comment
ARG BASE=debian:12
FROM \${BASE}

# another
RUN apt-get update \\
 && apt-get install
COPY a b
`;

function record(): {
  seen: Progress[];
  progress: ReturnType<typeof createBuildProgress>;
  clock: { ms: number };
} {
  const seen: Progress[] = [];
  const clock = { ms: 0 };
  return {
    seen,
    clock,
    progress: createBuildProgress(
      DOCKERFILE,
      () => clock.ms,
      (state) => seen.push(state),
    ),
  };
}

test('steps are the base, the context, each instruction and the labels; a continued line is no step', () => {
  const { seen, progress } = record();
  progress.base(0.5);
  progress.context();
  progress.builderLine('Step 5/5 : LABEL a=b');
  expect(seen.map(({ step, steps }) => [step, steps])).toEqual([
    [1, 7],
    [2, 7],
    [7, 7],
  ]);
});

test('within the step that installs packages it goes on with each package', () => {
  const { seen, progress } = record();
  progress.builderLine('Step 3/5 : RUN apt-get update');
  const before = seen.at(-1)!.percent;
  progress.builderLine('Get:1 http://mirror.example/debian bookworm InRelease [151 kB]');
  progress.builderLine('6 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.');
  progress.builderLine('0 upgraded, 10 newly installed, 0 to remove and 0 not upgraded.');
  for (let i = 0; i < 10; i++)
    progress.builderLine(`Get:${i} http://mirror.example/debian bookworm/main p${i}`);
  const fetched = seen.at(-1)!.percent;
  for (let i = 0; i < 10; i++) progress.builderLine(`Unpacking p${i} (1.0) ...`);
  for (let i = 0; i < 10; i++) progress.builderLine(`Setting up p${i} (1.0) ...`);
  const all = seen.at(-1)!.percent;
  expect(before).toBeLessThan(fetched);
  expect(fetched).toBeLessThan(all);
  expect(all).toBeLessThanOrEqual(100);
});

test('percent never falls, and the time left follows the speed of this machine', () => {
  const { seen, progress, clock } = record();
  clock.ms = 60_000;
  progress.base(1);
  const left = seen.at(-1)!.secondsLeft!;
  expect(left).toBeGreaterThan(60);
  progress.base(0.2);
  expect(seen.at(-1)!.percent).toBe(seen[0]!.percent);
});

test('it reads as a sentence', () => {
  const state = { step: 7, steps: 10, percent: 48, secondsLeft: 118 };
  expect(inWords(state)).toBe('building the standard computer image: step 7 of 10 (48 %), about 2 min left');
  expect(inWords({ ...state, secondsLeft: 22 })).toMatch(/, about 25 s left$/);
  expect(inWords({ ...state, secondsLeft: undefined })).toMatch(/\(48 %\)$/);
});
