// Decides which partition a process takes or returns. Each process decides for itself, from the shared view. Pure.

/** A partition that has been free for this long is taken by any process, not only by one with the fewest. */
export const FREE_MS_MAX = 2_000;
/** A partition is returned only after owners and members were unchanged for this long, which prevents flapping. */
export const UNCHANGED_MS = 10_000;
/** Minimum difference for a hand-over: afterwards the receiver does not have more than the giver. */
const RICHER_BY_MIN = 2;

export interface View {
  /** Instance name of this process. */
  readonly me: string;
  /** The live instances. */
  readonly members: readonly string[];
  /** The owner of each partition; null: none. */
  readonly owners: readonly (string | null)[];
  /** Milliseconds for which some partition has been free. */
  readonly freeForMs: number;
  /** Milliseconds for which members and owners have been unchanged. */
  readonly unchangedForMs: number;
}

/**
 * The partition to take now, null: none. Members with the fewest take first; equal ones start at different partitions.
 */
export function toTake({ me, members, owners, freeForMs }: View): number | null {
  const free = owners.flatMap((owner, index) => (owner === null ? [index] : []));
  if (free.length === 0) return null;
  const counts = countsOf(me, members, owners);
  const least = Math.min(...counts.values());
  const mine = counts.get(me) ?? 0;
  if (mine > least && freeForMs < FREE_MS_MAX) return null;
  const equals = [...counts].filter(([, count]) => count === mine).map(([name]) => name);
  return free[equals.sort().indexOf(me) % free.length] ?? null;
}

/** The partition to return now, null: none. One member returns at a time: the one with the most, ties by name. */
export function toGiveBack(
  { me, members, owners, unchangedForMs }: View,
  unchangedMs: number = UNCHANGED_MS,
): number | null {
  if (owners.includes(null) || unchangedForMs < unchangedMs) return null;
  const counts = countsOf(me, members, owners);
  const mine = counts.get(me) ?? 0;
  if (mine < Math.min(...counts.values()) + RICHER_BY_MIN || mine < Math.max(...counts.values())) return null;
  const richest = [...counts].filter(([, count]) => count === mine).map(([name]) => name);
  return richest.sort()[0] === me ? owners.lastIndexOf(me) : null;
}

function countsOf(me: string, members: readonly string[], owners: View['owners']): Map<string, number> {
  const counts = new Map([...members, me].map((member) => [member, 0]));
  for (const owner of owners) {
    const count = owner === null ? undefined : counts.get(owner);
    if (owner !== null && count !== undefined) counts.set(owner, count + 1);
  }
  return counts;
}
