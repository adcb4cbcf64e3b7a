// The loop of a worker: looks for jobs that are due, takes their leases, and works on several at once.
import type { Bucket, Bus, Entry } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { workOn } from './advance.ts';
import { holdJob, LeaseLost } from './held-job.ts';
import { OpenJobs } from './open-jobs.ts';
import type { JobSurroundings } from './surroundings.ts';

/** Jobs that one worker has in its hands at once; most of them wait for a maker's answer. */
export const JOBS_AT_ONCE_MAX = 64;
/** How often the clock is looked at for jobs that have come due, or whose worker is gone. */
export const LOOK_EVERY_MS = 250;

export interface Worker {
  /** Jobs that are not over, those of other workers included: for metrics. */
  readonly open: number;
  /** Takes no further job, and lets go of those that it has: at once, or when their step is done. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  bus: Bus;
  videos: Bucket<VideoRecord>;
  on: JobSurroundings;
}

export async function startWorker({ bus, videos, on }: WorkerOptions): Promise<Worker> {
  const inHand = new Map<string, Promise<void>>();
  let cancelLook = () => {};
  let poked = false;
  const takeDue = () => {
    for (const entry of open.due(on.clock.now())) {
      if (on.stopping.aborted || inHand.size >= JOBS_AT_ONCE_MAX) return;
      if (inHand.has(entry.key)) continue;
      const working = takeOne(on, bus.instance, entry).finally(() => {
        inHand.delete(entry.key);
        poke();
      });
      inHand.set(entry.key, working);
    }
  };
  /** Several changes of one turn are one look. */
  const poke = () => {
    if (poked || on.stopping.aborted) return;
    poked = true;
    setImmediate(() => {
      poked = false;
      takeDue();
    });
  };
  const lookLater = () => {
    cancelLook = on.clock.after(LOOK_EVERY_MS, () => {
      takeDue();
      lookLater();
    });
  };
  const open = new OpenJobs({ bus, videos, clock: on.clock, onChange: poke });
  await open.open();
  lookLater();
  return {
    get open() {
      return open.size;
    },
    async stop() {
      cancelLook();
      open.close();
      await Promise.allSettled(inHand.values());
    },
  };
}

/** Never throws: what fails is left to the lease to run out, and taken up again by whoever is there. */
async function takeOne(on: JobSurroundings, worker: string, entry: Entry<VideoRecord>): Promise<void> {
  const { id } = entry.value;
  try {
    const held = await holdJob(on, entry, worker);
    if (!held) return;
    try {
      await workOn(on, held);
    } catch (error) {
      held.abandon();
      throw error;
    }
  } catch (error) {
    const level = error instanceof LeaseLost ? 'debug' : 'error';
    on.logger[level]({ err: error, video: id }, 'work on a video broke off; it is taken up again');
  }
}
