// A job under our lease; only one worker at a time processes it. Every change is a compare-and-set, so a worker that
// was paused beyond its lease can change nothing.
import { randomBytes } from 'node:crypto';
import { type Entry, RevisionConflict } from '@switchyard/bus';
import { ServiceError, type VideoRecord, videoKey } from '@switchyard/contracts';
import { Lock, sleep } from '@switchyard/service';
import type { JobDeps } from './job-deps.ts';

/** Other workers take over the jobs of a killed worker after this time at the latest. */
export const LEASE_MS = 10_000;
const RENEW_MS = LEASE_MS / 3;
/** Maximum consecutive conflicts with changes by others, e.g. a deletion, that one change of ours retries. */
const CONFLICTS_MAX = 10;
/** Delay before a failed write is retried; times CONFLICTS_MAX it must stay within the lease. */
const RETRY_DELAY_MS = 500;

/** Another worker holds the lease now; this worker must stop all work on the job. */
export class LeaseLost extends Error {
  constructor(id: string) {
    super(`lost the lease of ${id}`);
    this.name = 'LeaseLost';
  }
}

type Needs = Pick<JobDeps, 'videos' | 'clock'>;
export type Change = Partial<VideoRecord>;

/** Takes the lease of an unleased job; returns null when another worker was faster. */
export async function holdJob(
  deps: Needs,
  entry: Entry<VideoRecord>,
  worker: string,
): Promise<HeldJob | null> {
  if (isHeld(entry.value, deps.clock.now())) return null;
  const owner = `${worker}:${randomBytes(6).toString('hex')}`;
  const lease = { owner, until: new Date(deps.clock.now() + LEASE_MS).toISOString() };
  const record = { ...entry.value, lease };
  try {
    const revision = await deps.videos.update(entry.key, record, entry.revision);
    return new HeldJob(deps, owner, record, revision);
  } catch (error) {
    if (error instanceof RevisionConflict) return null;
    throw error;
  }
}

export function isHeld({ lease }: VideoRecord, now: number): boolean {
  return lease !== null && Date.parse(lease.until) > now;
}

export class HeldJob {
  readonly #deps: Needs;
  readonly #owner: string;
  readonly #key: string;
  readonly #lost = new AbortController();
  readonly #unwanted = new AbortController();
  readonly #lock = new Lock();
  #record: VideoRecord;
  #revision: number;
  #over = false;
  #cancelRenewal = () => {};

  constructor(deps: Needs, owner: string, record: VideoRecord, revision: number) {
    this.#deps = deps;
    this.#owner = owner;
    this.#record = record;
    this.#revision = revision;
    this.#key = videoKey(record.org, record.id);
    this.#renewLater();
  }

  get record(): VideoRecord {
    return this.#record;
  }

  /** Aborted when another worker holds the lease. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborted when a write, or at the latest a lease renewal, shows that the video was deleted. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  /** @throws LeaseLost */
  change(change: Change): Promise<void> {
    return this.#lock.run(() => this.#write(change, this.#extended()));
  }

  /**
   * Writes the last change; other workers may take the job from `next_at` on.
   * @throws LeaseLost
   */
  async release(change: Change): Promise<void> {
    this.#stopRenewal();
    await this.#lock.run(() => this.#write(change, null));
  }

  /** Drops the job without a write, like a process that dies; the lease expires. */
  abandon(): void {
    this.#stopRenewal();
    this.#lost.abort(new LeaseLost(this.#record.id));
  }

  async #write(change: Change, lease: VideoRecord['lease']): Promise<void> {
    for (let attempt = 0; attempt < CONFLICTS_MAX; attempt += 1) {
      this.#lost.signal.throwIfAborted();
      const wanted = { ...this.#record, ...change, lease };
      try {
        this.#revision = await this.#deps.videos.update(this.#key, wanted, this.#revision);
        this.#record = wanted;
        return;
      } catch (error) {
        if (isUnavailable(error)) await this.#pause();
        else if (!(error instanceof RevisionConflict)) throw error;
      }
      await this.#readAgain();
    }
    throw new Error(`too many conflicting changes of ${this.#key}`);
  }

  /** Accepts the changes that others may make under our lease; any other change means that the lease is lost. */
  async #readAgain(): Promise<void> {
    const entry = await this.#deps.videos.get(this.#key);
    if (entry?.value.lease?.owner !== this.#owner) {
      this.abandon();
      throw new LeaseLost(this.#record.id);
    }
    this.#record = entry.value;
    this.#revision = entry.revision;
    if (entry.value.deleted) this.#unwanted.abort(new Error('the video was deleted'));
  }

  /** A maker's answer must survive a brief outage of the store. */
  #pause(): Promise<void> {
    return sleep(RETRY_DELAY_MS, this.#deps.clock);
  }

  #extended(): VideoRecord['lease'] {
    return { owner: this.#owner, until: new Date(this.#deps.clock.now() + LEASE_MS).toISOString() };
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#deps.clock.after(RENEW_MS, () => {
      if (this.#over) return;
      this.#renewLater();
      this.change({}).catch(() => {
        // The store may recover in time, but an expired lease may belong to another worker.
        const { lease } = this.#record;
        if (lease !== null && Date.parse(lease.until) <= this.#deps.clock.now()) this.abandon();
      });
    });
  }

  #stopRenewal(): void {
    this.#over = true;
    this.#cancelRenewal();
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'service_unavailable';
}
