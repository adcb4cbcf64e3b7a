// The resident memory of a computer agent over time, through its deaths.
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '@switchyard/testing';
import { residentMiB } from '../processes.ts';

const SAMPLE_MS = 1_000;
/**
 * Of each such time the least counts for the slope: what is held. What passes through, the output of a bomb before all, is up to
 * 25 MiB for a few seconds, and by it a fit to some minutes says what came last.
 */
const HELD_MINUTES = 0.25;

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
  /** The least of each quarter minute, from the process's first on. */
  readonly heldMiB: readonly number[];
  /** Of what it holds; least squares, MiB a minute. */
  readonly slope: number;
  /** The same of all that there was at the time. */
  readonly slopeOfAll: number;
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
  if (first === undefined || end === undefined) return NOTHING_MEASURED;
  return {
    firstMiB: first.mib,
    lastMiB: end.mib,
    mostMiB: Math.max(...warm.map(({ mib }) => mib)),
    heldMiB: heldOf(last).map(({ mib }) => mib),
    slope: slopeOf(heldOf(warm)),
    slopeOfAll: slopeOf(warm),
    minutes: end.minute - first.minute,
  };
}

const NOTHING_MEASURED: MemoryTrend = {
  firstMiB: Number.NaN,
  lastMiB: Number.NaN,
  mostMiB: Number.NaN,
  heldMiB: [],
  slope: Number.NaN,
  slopeOfAll: Number.NaN,
  minutes: 0,
};

/** The least of each `HELD_MINUTES`. */
function heldOf(samples: readonly Sample[]): Sample[] {
  const times = Map.groupBy(samples, ({ minute }) => Math.floor(minute / HELD_MINUTES));
  return [...times.values()].map((some) => some.reduce((least, one) => (one.mib < least.mib ? one : least)));
}

function slopeOf(samples: readonly Sample[]): number {
  const mean = (of: 'minute' | 'mib') => samples.reduce((sum, one) => sum + one[of], 0) / samples.length;
  const [x, y] = [mean('minute'), mean('mib')];
  const above = samples.reduce((sum, { minute, mib }) => sum + (minute - x) * (mib - y), 0);
  return above / samples.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
}
