// Started containers of the standard image that wait for a computer to claim them.
//
// Filled in the background, one at a time, when no command runs (but not put off for ever): making a container takes
// a core for a quarter of a second, which no running command should feel.
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecActivity } from './exec-activity.ts';
import type { InitClient } from './init-client.ts';
import type { HostLogger } from './logger.ts';

const QUIET_WAIT_MS_MAX = 2_000;
const RETRY_DELAY_MS = 5_000;

export interface PooledContainer {
  readonly containerId: string;
  readonly slot: string;
  readonly init: InitClient;
}

export interface WarmPoolOptions {
  /** Containers that wait when nobody claims any. */
  readonly size: number;
  /** Makes one container and connects to it. */
  readonly make: () => Promise<PooledContainer>;
  readonly destroy: (container: PooledContainer) => Promise<void>;
  readonly activity: ExecActivity;
  readonly logger: HostLogger;
}

export interface WarmPool {
  /** A container that nobody else gets, or undefined if none waits. */
  claim(): PooledContainer | undefined;
  readonly waiting: number;
  /** Whether it waits here: one that could not be removed when it ended does not. */
  holds(containerId: string): boolean;
  /** Resolves when the pool is full, or has been closed. */
  filled(): Promise<void>;
  /** Stops filling and destroys what waits. */
  close(): Promise<void>;
}

export function openWarmPool({ size, make, destroy, activity, logger }: WarmPoolOptions): WarmPool {
  const waiting: PooledContainer[] = [];
  const closing = new AbortController();
  let filling: Promise<void> | undefined;
  /** Those who wait for the pool to be full. */
  const watchers: (() => void)[] = [];
  const tellWatchers = () => {
    for (const wake of watchers.splice(0)) wake();
  };

  const add = (container: PooledContainer) => {
    waiting.push(container);
    void container.init.closed.then(() => {
      const place = waiting.indexOf(container);
      if (place < 0) return; // claimed, or destroyed by us
      waiting.splice(place, 1);
      logger.warn({ container: container.containerId }, 'a container of the warm pool ended by itself');
      void destroy(container).catch(() => {});
      refill();
    });
  };

  const fill = async () => {
    while (waiting.length < size && !closing.signal.aborted) {
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
      if (container) refill();
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
