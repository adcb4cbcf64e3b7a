// Turns the builder's output into one sentence: the current step, the percentage and the remaining time.

/** Expected seconds of each step, measured on two cores with a fast mirror. Only the proportions matter. */
const EXPECTED_S = { base: 31, context: 6, packages: 70, other: 1.5 };
/** Below this percentage the remaining time is not reliable enough to show. */
const ESTIMATE_AFTER_FRACTION = 0.05;

export interface Progress {
  readonly step: number;
  readonly steps: number;
  /** 0 to 100, never falling. */
  readonly percent: number;
  readonly secondsLeft: number | undefined;
}

interface BuildProgress {
  base(fraction: number): void;
  context(): void;
  /** A line of the Docker builder's output. */
  builderLine(line: string): void;
}

/** `now` in milliseconds; `report` is called when something changed. */
export function createBuildProgress(
  dockerfile: string,
  now: () => number,
  report: (progress: Progress) => void,
): BuildProgress {
  const instructions = instructionsOf(dockerfile);
  const expected = [
    EXPECTED_S.base,
    EXPECTED_S.context,
    ...instructions.map((text) => (text.startsWith('RUN') ? EXPECTED_S.packages : EXPECTED_S.other)),
    EXPECTED_S.other, // the labels, which the builder adds as one more instruction
  ];
  const expectedAll = expected.reduce((sum, seconds) => sum + seconds, 0);
  const startedAt = now();
  const packages = createPackageCounter();
  let furthest = 0;
  let step = 0;

  const reach = (nextStep: number, fraction: number) => {
    step = Math.max(step, nextStep);
    const before = expected.slice(0, nextStep).reduce((sum, seconds) => sum + seconds, 0);
    const done = (before + (expected[nextStep] ?? 0) * fraction) / expectedAll;
    furthest = Math.max(furthest, Math.min(done, 1));
    const elapsedS = (now() - startedAt) / 1000;
    report({
      step: step + 1,
      steps: expected.length,
      percent: Math.floor(furthest * 100),
      secondsLeft:
        furthest < ESTIMATE_AFTER_FRACTION ? undefined : Math.round((elapsedS / furthest) * (1 - furthest)),
    });
  };

  return {
    base: (fraction) => reach(0, fraction),
    context: () => reach(1, 0),
    builderLine(line) {
      const started = line.match(/^Step (\d+)\/\d+ :/);
      if (started) reach(1 + Number(started[1]), 0);
      else if (packages.line(line)) reach(step, packages.fraction());
    },
  };
}

/** "building the standard computer image: step 7 of 10 (48 %), about 2 min left" */
export function inWords({ step, steps, percent, secondsLeft }: Progress): string {
  const where = `building the standard computer image: step ${step} of ${steps} (${percent} %)`;
  if (secondsLeft === undefined) return where;
  const left =
    secondsLeft < 60
      ? `${Math.max(5, Math.ceil(secondsLeft / 5) * 5)} s`
      : `${Math.ceil(secondsLeft / 60)} min`;
  return `${where}, about ${left} left`;
}

/** The first line of each instruction, without its continuation lines. */
function instructionsOf(dockerfile: string): string[] {
  return dockerfile
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

/** apt writes the number of new packages, then one line for each download, unpacking and setup. */
function createPackageCounter() {
  let total = 0;
  let lines = 0;
  return {
    /** Whether the line changed the progress. */
    line(text: string): boolean {
      const announced = Number(text.match(/, (\d+) newly installed/)?.[1] ?? 0);
      if (announced > 0) {
        total = announced;
        lines = 0;
        return true;
      }
      if (total === 0 || !/^(Get:|Unpacking |Setting up )/.test(text)) return false;
      lines += 1;
      return true;
    },
    fraction: () => (total === 0 ? 0 : Math.min(1, lines / (3 * total))),
  };
}
