// Time as an argument, so that tests can hold it still and let it pass.

export interface Clock {
  /** Milliseconds since the epoch: for what is written down. It may step. */
  now(): number;
  /** Milliseconds of a clock that never steps: for what is measured. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds; returns how to take it back. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
