// Watches what computers use of the processor and gives each its weight by its size and its credit
// (processor-credit.ts), as long as it runs. Within a computer, its init goes before all else.
import { constants, setPriority } from 'node:os';
import type { CpuCgroup } from '../docker/cpu-cgroup.ts';
import { sharesOf } from '../docker/engine.ts';
import { ProcessorCredit } from './processor-credit.ts';

/** A bomb has the processor for so long, and what it takes to use up its credit, before its neighbours go before it. */
const LOOK_MS = 50;
/** Of its weight, while it is heavy: the largest heavy computer and the smallest light one weigh the same. */
export const HEAVY_SHARE = 1 / 16;

/**
 * The init shares its computer's processor time with whatever runs there: without precedence it would wait its turn
 * among the hundreds of processes that it is to end. What it runs for others has none (init/supervisor.c). It keeps it
 * for life, whichever agent it speaks to.
 * @param pid of a container that this agent started, as this host numbers processes
 */
export function preferInit(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not ours to set, or it has ended: all else goes on without.
  }
}

export interface Precedence {
  /** Until the function is called that it returns. The cgroup is closed then. */
  watch(cgroup: CpuCgroup, cpu: number): () => void;
}

interface Watched {
  readonly cgroup: CpuCgroup;
  readonly shares: number;
  readonly credit: ProcessorCredit;
  usedMs: number;
}

/** @param now milliseconds of a clock that is never set */
export function openPrecedence(now: () => number = () => performance.now()): Precedence {
  const all = new Set<Watched>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;

  const forget = (one: Watched) => {
    if (!all.delete(one)) return;
    one.cgroup.close();
    if (all.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const look = () => {
    const elapsedMs = now() - lookedAt;
    lookedAt += elapsedMs;
    for (const one of all) {
      try {
        weigh(one, elapsedMs);
      } catch {
        forget(one); // its container has ended, and the init's connection will say so
      }
    }
  };

  return {
    watch(cgroup, cpu) {
      const one = { cgroup, shares: sharesOf(cpu), credit: new ProcessorCredit(), usedMs: 0 };
      all.add(one);
      try {
        // An agent that died may have left it with the weight of a heavy one.
        cgroup.setShares(one.shares);
        one.usedMs = cgroup.usedMs();
      } catch {
        forget(one);
      }
      if (timer === undefined && all.size > 0) {
        lookedAt = now();
        timer = setInterval(look, LOOK_MS).unref();
      }
      return () => forget(one);
    },
  };
}

function weigh(one: Watched, elapsedMs: number): void {
  const { cgroup, shares, credit } = one;
  const usedMs = cgroup.usedMs();
  const wasHeavy = credit.heavy;
  credit.spend(usedMs - one.usedMs, elapsedMs);
  one.usedMs = usedMs;
  if (credit.heavy !== wasHeavy) cgroup.setShares(credit.heavy ? shares * HEAVY_SHARE : shares);
}
