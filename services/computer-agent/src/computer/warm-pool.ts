// Started containers of the standard image that wait for a computer to claim them.
//
// Filled in the background, one at a time, a little after a claim and when no command runs (but not put off for ever):
// making a container takes a core for a quarter of a second, which no running command should feel, nor whoever claimed
// one and has a first command to run.
import { setTimeout as delay } from 'node:timers/promises';
import type { CpuCgroup } from '../docker/cpu-cgroup.ts';
import type { ExecActivity } from './exec-activity.ts';
import type { InitClient } from './init-client.ts';
import type { HostLogger } from './logger.ts';

const QUIET_WAIT_MS_MAX = 2_000;
const RETRY_DELAY_MS = 5_000;
/** From the last claim to the making of the next container. */
const REFILL_PAUSE_MS = 500;

export interface StartedContainer {
  readonly containerId: string;
  readonly slot: string;
  /** Of its init, as the engine's host numbers processes. */
  readonly pid: number;
  readonly init: InitClient;
  /** Undefined where this agent cannot see it. */
  readonly cgroup: CpuCgroup | undefined;
}

export interface WarmPoolOptions {
  /** Containers that wait when nobody claims any. */
  readonly size: number;
  /** Makes one container and connects to it. */
  readonly make: () => Promise<StartedContainer>;
  readonly destroy: (container: StartedContainer) => Promise<void>;
  readonly activity: ExecActivity;
  readonly logger: HostLogger;
  /** Aborted: it does nothing more by itself. */
  readonly killed?: AbortSignal | undefined;
}

export interface WarmPool {
  /** A container that nobody else gets, or undefined if none waits. */
  claim(): StartedContainer | undefined;
  readonly waiting: number;
  /** Whether it waits here: one that could not be removed when it ended does not. */
  holds(containerId: string): boolean;
  /** Resolves when the pool is full, or has been closed. */
  filled(): Promise<void>;
  /** Stops filling and destroys what waits. */
  close(): Promise<void>;
}

export function openWarmPool({ size, make, destroy, activity, logger, killed }: WarmPoolOptions): WarmPool {
  const waiting: StartedContainer[] = [];
  const closing = new AbortController();
  killed?.addEventListener('abort', () => closing.abort(), { once: true });
  let filling: Promise<void> | undefined;
  let claimedAt = Number.NEGATIVE_INFINITY;
  /** Those who wait for the pool to be full. */
  const watchers: (() => void)[] = [];
  const tellWatchers = () => {
    for (const wake of watchers.splice(0)) wake();
  };

  const add = (container: StartedContainer) => {
    waiting.push(container);
    void container.init.closed.then(() => {
      const place = waiting.indexOf(container);
      if (place < 0 || closing.signal.aborted) return; // claimed, or destroyed by us
      waiting.splice(place, 1);
      logger.warn({ container: container.containerId }, 'a container of the warm pool ended by itself');
      void destroy(container).catch(() => {});
      refill();
    });
  };

  /** Not for ever: each claim leaves one less to be claimed. */
  const pauseAfterClaim = async () => {
    for (;;) {
      const leftMs = claimedAt + REFILL_PAUSE_MS - performance.now();
      if (leftMs <= 0 || closing.signal.aborted) return;
      await delay(leftMs, undefined, { signal: closing.signal }).catch(() => {});
    }
  };
  const fill = async () => {
    while (waiting.length < size && !closing.signal.aborted) {
      await pauseAfterClaim();
      await activity.quiet(QUIET_WAIT_MS_MAX);
      if (closing.signal.aborted) return;
      try {
        const container = await make();
        if (closing.signal.aborted) await destroy(container);
        else add(container);
      } catch (error) {
        logger.warn({ err: error }, 'a container for the warm pool could not be made; trying again');
        await delay(RETRY_DELAY_MS, undefined, { signal: closing.signal }).catch(() => {});
      }
    }
  };

  const refill = () => {
    if (filling || closing.signal.aborted) return;
    filling = fill().finally(() => {
      filling = undefined;
      if (waiting.length >= size || closing.signal.aborted) tellWatchers();
      else refill(); // claimed from while the last one was made
    });
  };
  refill();

  return {
    claim() {
      const container = waiting.shift();
      if (container) {
        claimedAt = performance.now();
        refill();
      }
      return container;
    },
    get waiting() {
      return waiting.length;
    },
    holds: (containerId) => waiting.some((container) => container.containerId === containerId),
    async filled() {
      while (waiting.length < size && !closing.signal.aborted) {
        await new Promise<void>((resolve) => watchers.push(resolve));
      }
    },
    async close() {
      closing.abort();
      await filling;
      tellWatchers();
      await Promise.all(waiting.splice(0).map(destroy));
    },
  };
}
