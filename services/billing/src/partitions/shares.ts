// Who takes which partition, and who gives one back: decided by each process for itself, from what all of them see. Pure.

/** A free partition that nobody poorer takes for so long is taken by whoever sees it. */
export const FREE_MS_MAX = 2_000;
/** Nothing is given back until owners and members have been the same for so long: hand-overs are rare and never flap. */
export const REST_MS = 10_000;
/** One is given back only to a member that has fewer by so many: afterwards it has not more than the giver. */
const RICHER_BY_MIN = 2;

export interface View {
  /** Ourselves: an instance's name. */
  readonly me: string;
  /** The instances that live. */
  readonly members: readonly string[];
  /** Who owns each partition; null: nobody. */
  readonly owners: readonly (string | null)[];
  /** Milliseconds that some partition has been free. */
  readonly freeForMs: number;
  /** Milliseconds that members and owners have been the same. */
  readonly restedForMs: number;
}

/** The partition to take now, null: none. The poorest take first, and those that are equally poor begin at different ones. */
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

/** The partition to give back now, null: none. One member gives at a time: the richest, of several the first by name. */
export function toGiveBack(
  { me, members, owners, restedForMs }: View,
  restMs: number = REST_MS,
): number | null {
  if (owners.includes(null) || restedForMs < restMs) return null;
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
