// The main loop of a worker: finds jobs that are due, takes their leases, and processes several at once.
import type { Bucket, Bus, Entry } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { workOn } from './advance.ts';
import { holdJob, LeaseLost } from './held-job.ts';
import type { JobDeps } from './job-deps.ts';
import { OpenJobs } from './open-jobs.ts';

/** Maximum jobs that one worker processes at once; most of them wait for a maker's answer. */
const JOBS_AT_ONCE_MAX = 64;
/** Polling interval for jobs that have become due or whose lease has expired. */
const LOOK_EVERY_MS = 250;

export interface Worker {
  /** Takes no further job, and releases the current ones at once or after their current step. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  bus: Bus;
  videos: Bucket<VideoRecord>;
  deps: JobDeps;
}

export async function startWorker({ bus, videos, deps }: WorkerOptions): Promise<Worker> {
  const inHand = new Map<string, Promise<void>>();
  let cancelLook = () => {};
  let poked = false;
  const takeDue = () => {
    for (const entry of open.due(deps.clock.now())) {
      if (deps.stopping.aborted || inHand.size >= JOBS_AT_ONCE_MAX) return;
      if (inHand.has(entry.key)) continue;
      const working = takeOne(deps, bus.instance, entry).finally(() => {
        inHand.delete(entry.key);
        poke();
      });
      inHand.set(entry.key, working);
    }
  };
  // Coalesces several changes of one event loop turn into one check.
  const poke = () => {
    if (poked || deps.stopping.aborted) return;
    poked = true;
    setImmediate(() => {
      poked = false;
      takeDue();
    });
  };
  const lookLater = () => {
    cancelLook = deps.clock.after(LOOK_EVERY_MS, () => {
      takeDue();
      lookLater();
    });
  };
  const open = new OpenJobs({ bus, videos, clock: deps.clock, onChange: poke });
  await open.open();
  lookLater();
  return {
    async stop() {
      cancelLook();
      open.close();
      await Promise.allSettled(inHand.values());
    },
  };
}

/** Never throws: after an error the lease expires, and any worker takes the job again. */
async function takeOne(deps: JobDeps, worker: string, entry: Entry<VideoRecord>): Promise<void> {
  const { id } = entry.value;
  try {
    const held = await holdJob(deps, entry, worker);
    if (!held) return;
    try {
      await workOn(deps, held);
    } catch (error) {
      held.abandon();
      throw error;
    }
  } catch (error) {
    const level = error instanceof LeaseLost ? 'debug' : 'error';
    deps.logger[level]({ err: error, video: id }, 'work on a video broke off; it is taken up again');
  }
}
