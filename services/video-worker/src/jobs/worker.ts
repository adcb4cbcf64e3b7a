// The main loop of a worker: finds jobs that are due, takes their leases, and processes several at once.
import type { Entry, Mirror } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { upstreamOf, workOn } from './advance.ts';
import { type HeldJob, holdJob, isHeld, LeaseLost } from './held-job.ts';
import type { JobDeps } from './job-deps.ts';

/** Maximum jobs that one worker processes at once; most of them wait for a maker's answer. */
export const JOBS_AT_ONCE_MAX = 64;
/** Maximum of these per org, and per upstream, so that neither one org nor an upstream that hangs stops all jobs. */
const SHARE_MAX = JOBS_AT_ONCE_MAX / 2;
/** Polling interval for jobs that have become due or whose lease has expired. */
export const LOOK_EVERY_MS = 250;

export interface Worker {
  /** Takes no further job, and releases the current ones at once or after their current step. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  /** The unfinished jobs, of all workers. */
  openJobs: Mirror<VideoRecord>;
  /** The id of this worker. */
  instance: string;
  deps: JobDeps;
}

export function startWorker({ openJobs, instance, deps }: WorkerOptions): Worker {
  const inHand = new Map<string, { readonly sharers: string[]; readonly working: Promise<void> }>();
  /** Jobs whose lease was not taken since the last look. */
  const notTaken = new Set<string>();
  const takeOne = takerOf(deps, instance);
  const isShareTaken = (sharer: string) =>
    [...inHand.values()].filter(({ sharers }) => sharers.includes(sharer)).length >= SHARE_MAX;
  let cancelLook = () => {};
  let poked = false;
  const takeDue = () => {
    for (const entry of dueJobs(openJobs.entries(), deps.clock.now())) {
      if (deps.stopping.aborted || inHand.size >= JOBS_AT_ONCE_MAX) return;
      if (inHand.has(entry.key) || notTaken.has(entry.key)) continue;
      const sharers = sharersOf(deps, entry.value);
      if (sharers.some(isShareTaken)) continue;
      const working = takeOne(entry).then((isTaken) => {
        inHand.delete(entry.key);
        if (isTaken) poke();
        else notTaken.add(entry.key);
      });
      inHand.set(entry.key, { sharers, working });
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
      notTaken.clear();
      takeDue();
      lookLater();
    });
  };
  const stopListening = openJobs.onChange(poke);
  poke();
  lookLater();
  return {
    async stop() {
      cancelLook();
      stopListening();
      await Promise.allSettled([...inHand.values()].map(({ working }) => working));
    },
  };
}

/** Unleased jobs that are due, the longest waiting first. */
function dueJobs(openJobs: Entry<VideoRecord>[], now: number): Entry<VideoRecord>[] {
  return openJobs
    .filter(({ value }) => Date.parse(value.next_at) <= now && !isHeld(value, now))
    .sort((a, b) => a.value.next_at.localeCompare(b.value.next_at));
}

/** The org of a job, and the upstream that the job is at or is offered to first. */
function sharersOf(deps: JobDeps, record: VideoRecord): string[] {
  const upstream = upstreamOf(deps, record);
  return [record.org, ...(upstream ? [upstream.base_url ?? upstream.adapter] : [])];
}

/** Takes jobs. Reports only the first of several leases in a row that cannot be written. */
function takerOf(deps: JobDeps, worker: string): (entry: Entry<VideoRecord>) => Promise<boolean> {
  let isReported = false;
  const hold = async (entry: Entry<VideoRecord>): Promise<HeldJob | null> => {
    try {
      const held = await holdJob(deps, entry, worker);
      if (held) isReported = false;
      return held;
    } catch (error) {
      const about = { err: error, video: entry.value.id };
      if (!isReported) deps.logger.error(about, 'the lease of a video cannot be written; retrying');
      isReported = true;
      return null;
    }
  };
  return async (entry) => {
    const held = await hold(entry);
    if (held) await finish(deps, held);
    return held !== null;
  };
}

/** Never throws: after an error the lease expires, and any worker takes the job again. */
async function finish(deps: JobDeps, held: HeldJob): Promise<void> {
  try {
    await workOn(deps, held);
  } catch (error) {
    held.abandon();
    const level = error instanceof LeaseLost ? 'debug' : 'error';
    const about = { err: error, video: held.record.id };
    deps.logger[level](about, 'work on a video failed; it will be retried');
  }
}
