// The resident memory of a computer agent over time, through its deaths.
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '@switchyard/testing';
import { residentMiB } from '../processes.ts';

const SAMPLE_MS = 1_000;

interface Sample {
  readonly pid: number;
  /** Minutes since the first. */
  readonly minute: number;
  readonly mib: number;
}

export interface MemoryTrend {
  readonly firstMiB: number;
  readonly lastMiB: number;
  readonly mostMiB: number;
  /** Least squares, MiB a minute. */
  readonly slope: number;
  /** Minutes that it was fitted to. */
  readonly minutes: number;
}

/** Samples until then (`performance.now()`). */
export async function watchAgentMemory(stack: TestStack, until: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  while (performance.now() < until) {
    const sample = await stack
      .pidOf('computer-agent')
      .then((pid) => ({ pid, minute: (performance.now() - startedAt) / 60_000, mib: residentMiB([pid]) }))
      .catch(() => null); // it is dead at the moment
    if (sample !== null && sample.mib > 0) samples.push(sample);
    await delay(SAMPLE_MS);
  }
  return samples;
}

/** Of the last process alone, without its first `warmUpMinutes`, in which it reads its code. */
export function trendOf(samples: readonly Sample[], warmUpMinutes: number): MemoryTrend {
  const last = samples.filter(({ pid }) => pid === samples.at(-1)?.pid);
  const from = (last[0]?.minute ?? 0) + warmUpMinutes;
  const warm = last.filter(({ minute }) => minute >= from);
  const [first, end] = [warm[0], warm.at(-1)];
  if (first === undefined || end === undefined)
    return { firstMiB: Number.NaN, lastMiB: Number.NaN, mostMiB: Number.NaN, slope: Number.NaN, minutes: 0 };
  return {
    firstMiB: first.mib,
    lastMiB: end.mib,
    mostMiB: Math.max(...warm.map(({ mib }) => mib)),
    slope: slopeOf(warm.map(({ minute, mib }) => [minute, mib])),
    minutes: end.minute - first.minute,
  };
}

function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (pick: 0 | 1) => points.reduce((sum, point) => sum + point[pick], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}
