// Counts the charged minutes of each computer, so that a host cannot charge more than can have passed. A run charges
// each minute that it begins, so all runs together have at most the minutes since the placement, and one per run.
import type { Bucket } from '@switchyard/bus';
import {
  type ComputerMinutes,
  type ComputerPlacement,
  MINUTE_MS,
  mayBegin,
  placementKey,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

/** Runs whose minutes are counted one by one. Minutes of an earlier run are no longer admitted. */
const RUNS_KEPT = 20;
/** The clocks of two instances may differ by this much. */
const CLOCKS_APART_MS = 120_000;

export interface MinuteCountDeps {
  readonly minutes: Bucket<ComputerMinutes>;
  readonly records: { readonly placements: Pick<Bucket<ComputerPlacement>, 'lastWrite'> };
  readonly clock: Clock;
}

interface Minute {
  /** Number of the run, from 1. */
  readonly run: number;
  /** From 0. */
  readonly minute: number;
}

/**
 * Counts a minute, once however often it is asked. Any number of instances may count.
 * @param time when the server got the minute
 * @returns false: the computer cannot have had this minute
 * @throws ServiceError `service_unavailable`
 */
export async function countMinute(
  deps: MinuteCountDeps,
  { org, id, created_at }: Pick<ComputerPlacement, 'org' | 'id' | 'created_at'>,
  minute: Minute,
  time: Date,
): Promise<boolean> {
  const { minutes, records, clock } = deps;
  const count = (ageMs: number) => countAt(minutes, placementKey(org, id), minute, ageMs);
  if (await count(clock.now() - Date.parse(created_at))) return true;
  // Our clock may have been set back since then; the server's two times are of one clock.
  const placed = await records.placements.lastWrite(placementKey(org, id));
  return placed !== null && count(time.getTime() - placed.at.getTime());
}

async function countAt(
  minutes: Bucket<ComputerMinutes>,
  key: string,
  minute: Minute,
  ageMs: number,
): Promise<boolean> {
  let counts = false;
  await minutes.change(key, (entry) => {
    const before = entry?.value ?? { runs: {}, earlier: { runs: 0, minutes: 0, last: 0 } };
    const after = withMinute(before, minute);
    counts = after === before || (after !== null && isPossible(after, minute.run, ageMs));
    return counts && after !== before ? after : null;
  });
  return counts;
}

/** The same object when the minute is counted already; null when its run is no longer kept. */
export function withMinute(counted: ComputerMinutes, { run, minute }: Minute): ComputerMinutes | null {
  const { runs, earlier } = counted;
  if (run <= earlier.last) return null;
  if ((runs[run] ?? 0) > minute) return counted;
  const now: ComputerMinutes['runs'] = { ...runs, [run]: minute + 1 };
  const numbers = Object.keys(now).map(Number); // in ascending order
  const [oldest = run] = numbers;
  if (numbers.length <= RUNS_KEPT) return { runs: now, earlier };
  const { [oldest]: folded = 0, ...kept } = now;
  return {
    runs: kept,
    earlier: { runs: earlier.runs + 1, minutes: earlier.minutes + folded, last: oldest },
  };
}

/** @param ageMs milliseconds since the placement */
export function isPossible({ runs, earlier }: ComputerMinutes, run: number, ageMs: number): boolean {
  const livedMs = Math.max(0, ageMs) + CLOCKS_APART_MS;
  const minutes = Object.values(runs).reduce((sum, each) => sum + each, earlier.minutes);
  const begun = earlier.runs + Object.keys(runs).length;
  return mayBegin(run, livedMs) && minutes <= Math.floor(livedMs / MINUTE_MS) + begun;
}
