// Watches what computers use of the processor and gives each its weight by its size and its credit
// (processor-credit.ts), as long as it runs; those who compute have a limit while others are at work (burst-limits.ts).
// Within a computer, its init goes before all else.
import { constants, setPriority } from 'node:os';
import type { CpuCgroup } from '../docker/cpu-cgroup.ts';
import { sharesOf } from '../docker/engine.ts';
import { BurstLimits } from './burst-limits.ts';
import { ProcessorCredit } from './processor-credit.ts';

/** A bomb has the processor for so long, and what it takes to use up its credit, before its neighbours go before it. */
const LOOK_MS = 50;
/**
 * Of the weight of its size, while it is heavy. Light ones all weigh as much as the largest: none uses more than its credit,
 * and a bomb that has only begun must not have the better part of the cores before the short command of a small one.
 */
export const HEAVY_SHARE = 1 / 16;
/** So long after it last used the processor a computer is at work. */
const AT_WORK_MS = 1_000;
/** A limit that is so much of the one that stands is as good. */
const AS_GOOD = 0.1;

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

/** Shares of the engine's group, for each core of the host. */
const ENGINE_SHARES = 2_048;

/**
 * The engine's group weighs 1,024 in all, as much as one process of the host does, however many containers there are: what
 * is short inside would wait behind each process outside, even behind those that make other containers.
 */
export function preferEngine(cgroup: CpuCgroup, cores: number): void {
  try {
    cgroup.raiseEngine(cores * ENGINE_SHARES);
  } catch {
    // Not ours to set: all else goes on without.
  }
}

export interface PrecedenceOptions {
  /** Of the host. */
  readonly cores: number;
  /** Cores that a computer of any size may use while nobody else wants them. */
  readonly coresMax: number;
  /** Milliseconds that the host's cores were idle; without it no computer gets a limit below its `coresMax`. */
  readonly idleMs: (() => number) | undefined;
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number;
}

export interface Watch {
  /** Takes its limit away until the function is called that it returns: to end processes takes time of the processor. */
  lift(): () => void;
  /** The cgroup is closed too. */
  close(): void;
}

export interface Precedence {
  watch(cgroup: CpuCgroup, cpu: number): Watch;
}

class Watched {
  readonly cgroup: CpuCgroup;
  readonly cpu: number;
  readonly #coresMax: number;
  readonly #credit: ProcessorCredit;
  #usedMs = 0;
  #restedMs = Number.POSITIVE_INFINITY;
  /** NaN while it is what an agent before left: the next one is written, whatever it is. */
  #limit = Number.NaN;
  #lifts = 0;

  /**
   * One that an agent before left heavy is heavy and keeps its limit until it has rested, or a look says otherwise: all who
   * compute would have the cores for themselves otherwise, just when everybody waited for the agent.
   * @throws when the container has ended
   */
  constructor(cgroup: CpuCgroup, cpu: number, coresMax: number) {
    this.cgroup = cgroup;
    this.cpu = cpu;
    this.#coresMax = coresMax;
    this.#credit = new ProcessorCredit(cgroup.hasShares(this.#heavyShares));
    if (!this.heavy) {
      cgroup.setShares(sharesOf(coresMax));
      this.limit(coresMax);
    }
    this.#usedMs = cgroup.usedMs();
  }

  get #heavyShares(): number {
    return sharesOf(this.cpu) * HEAVY_SHARE;
  }

  get heavy(): boolean {
    return this.#credit.heavy;
  }

  /** Others are to leave it room. */
  get answers(): boolean {
    return !this.heavy && this.#restedMs <= AT_WORK_MS;
  }

  /** @returns milliseconds that it used since the last look. @throws when the container has ended */
  weigh(elapsedMs: number): number {
    const usedMs = this.cgroup.usedMs() - this.#usedMs;
    this.#usedMs += usedMs;
    this.#restedMs = usedMs > 0 ? 0 : this.#restedMs + elapsedMs;
    const wasHeavy = this.heavy;
    this.#credit.spend(usedMs, elapsedMs);
    if (this.heavy !== wasHeavy) {
      this.cgroup.setShares(this.heavy ? this.#heavyShares : sharesOf(this.#coresMax));
      if (!this.heavy) this.limit(this.#coresMax);
    }
    return usedMs;
  }

  /** As often as it was lifted it must be let down; the next look sees to the limit then. @throws when the container has ended */
  lift(by: 1 | -1): void {
    this.#lifts += by;
    if (by > 0) this.limit(this.#coresMax);
  }

  /** @throws when the container has ended */
  limit(cores: number): void {
    const limit = this.#lifts > 0 ? this.#coresMax : Math.min(cores, this.#coresMax);
    const isSame = limit === this.#limit;
    const isNear = limit < this.#coresMax && Math.abs(limit - this.#limit) < AS_GOOD * this.#limit;
    if (isSame || isNear) return;
    this.cgroup.setLimit(limit);
    this.#limit = limit;
  }

  /** Where it runs on, nobody is there to lift its limit. */
  close(): void {
    try {
      this.limit(this.#coresMax);
    } catch {
      // Its container has ended.
    }
    this.cgroup.close();
  }
}

export function openPrecedence(options: PrecedenceOptions): Precedence {
  const { cores, coresMax, idleMs, now = () => performance.now() } = options;
  const all = new Set<Watched>();
  const limits = new BurstLimits(cores);
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;
  let idleBefore = 0;

  const forget = (one: Watched) => {
    if (!all.delete(one)) return;
    one.close();
    if (all.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  /** Who has ended is watched no longer; the init's connection will say so. */
  const whileItLasts = (one: Watched, work: () => void) => {
    try {
      work();
    } catch {
      forget(one);
    }
  };
  const limit = (elapsedMs: number, computingMs: number) => {
    if (idleMs === undefined) return;
    const idle = idleMs();
    limits.look({ elapsedMs, idleMs: idle - idleBefore, computingMs });
    idleBefore = idle;
    const heavy = [...all].filter((one) => one.heavy);
    const promised = [...all].reduce((sum, { cpu }) => sum + cpu, 0);
    const each = limits.limits(
      heavy.map(({ cpu }) => cpu),
      promised,
    );
    const othersWork = [...all].some((one) => one.answers);
    for (const [at, one] of heavy.entries())
      whileItLasts(one, () => one.limit(othersWork ? each[at]! : coresMax));
  };
  const look = () => {
    const elapsedMs = now() - lookedAt;
    lookedAt += elapsedMs;
    let computingMs = 0;
    for (const one of all)
      whileItLasts(one, () => {
        const usedMs = one.weigh(elapsedMs);
        if (one.heavy) computingMs += usedMs;
      });
    limit(elapsedMs, computingMs);
  };

  return {
    watch(cgroup, cpu) {
      let one: Watched;
      try {
        one = new Watched(cgroup, cpu, coresMax);
      } catch {
        cgroup.close();
        return { lift: () => () => {}, close: () => {} };
      }
      all.add(one);
      if (timer === undefined) {
        lookedAt = now();
        idleBefore = idleMs?.() ?? 0;
        timer = setInterval(look, LOOK_MS).unref();
      }
      const lift = (by: 1 | -1) => {
        if (all.has(one)) whileItLasts(one, () => one.lift(by));
      };
      return {
        lift() {
          lift(1);
          return () => lift(-1);
        },
        close: () => forget(one),
      };
    },
  };
}
