// A job under our lease: one worker at a time looks after it. Every change is a compare-and-set, so that a worker that
// was paused beyond its lease can change nothing any more.
import { randomBytes } from 'node:crypto';
import { type Entry, RevisionConflict } from '@switchyard/bus';
import { ServiceError, type VideoRecord, videoKey } from '@switchyard/contracts';
import { Lock } from '@switchyard/service';
import type { JobSurroundings } from './surroundings.ts';

/** A worker that is killed is missed after this time at the latest. */
export const LEASE_MS = 10_000;
const RENEW_MS = LEASE_MS / 3;
/** Changes by others (a deletion) that one change of ours may meet in a row. */
const CONFLICTS_MAX = 10;
/** Before a store that is away is asked again; by CONFLICTS_MAX, within the lease. */
const AGAIN_MS = 500;

/** Somebody else has the job now: whatever we were about is theirs. */
export class LeaseLost extends Error {
  constructor(id: string) {
    super(`the lease of ${id} is another’s`);
    this.name = 'LeaseLost';
  }
}

type Needs = Pick<JobSurroundings, 'videos' | 'clock'>;
export type Change = Partial<VideoRecord>;

/** Takes the lease of a job that nobody holds; null where another was faster. */
export async function holdJob(on: Needs, entry: Entry<VideoRecord>, worker: string): Promise<HeldJob | null> {
  if (isHeld(entry.value, on.clock.now())) return null;
  const owner = `${worker}:${randomBytes(6).toString('hex')}`;
  const lease = { owner, until: new Date(on.clock.now() + LEASE_MS).toISOString() };
  const record = { ...entry.value, lease };
  try {
    const revision = await on.videos.update(entry.key, record, entry.revision);
    return new HeldJob(on, owner, record, revision);
  } catch (error) {
    if (error instanceof RevisionConflict) return null;
    throw error;
  }
}

export function isHeld({ lease }: VideoRecord, now: number): boolean {
  return lease !== null && Date.parse(lease.until) > now;
}

export class HeldJob {
  readonly #on: Needs;
  readonly #owner: string;
  readonly #key: string;
  readonly #lost = new AbortController();
  readonly #unwanted = new AbortController();
  readonly #lock = new Lock();
  #record: VideoRecord;
  #revision: number;
  #over = false;
  #cancelRenewal = () => {};

  constructor(on: Needs, owner: string, record: VideoRecord, revision: number) {
    this.#on = on;
    this.#owner = owner;
    this.#record = record;
    this.#revision = revision;
    this.#key = videoKey(record.org, record.id);
    this.#renewLater();
  }

  get record(): VideoRecord {
    return this.#record;
  }

  /** Aborted when the lease is another's. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborted when it is seen that the video was deleted meanwhile: with the next write, a renewal at the latest. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  /** @throws LeaseLost */
  change(change: Change): Promise<void> {
    return this.#lock.run(() => this.#write(change, this.#extended()));
  }

  /**
   * The last change: others may take the job from `next_at` on.
   * @throws LeaseLost
   */
  async release(change: Change): Promise<void> {
    this.#stopRenewal();
    await this.#lock.run(() => this.#write(change, null));
  }

  /** Lets go of it without a word, as a process that dies does: the lease runs out. */
  abandon(): void {
    this.#stopRenewal();
    this.#lost.abort(new LeaseLost(this.#record.id));
  }

  async #write(change: Change, lease: VideoRecord['lease']): Promise<void> {
    for (let attempt = 0; attempt < CONFLICTS_MAX; attempt += 1) {
      this.#lost.signal.throwIfAborted();
      const wanted = { ...this.#record, ...change, lease };
      try {
        this.#revision = await this.#on.videos.update(this.#key, wanted, this.#revision);
        this.#record = wanted;
        return;
      } catch (error) {
        if (isAway(error)) await this.#pause();
        else if (!(error instanceof RevisionConflict)) throw error;
      }
      await this.#readAgain();
    }
    throw new Error(`${this.#key} is changed by others all the time`);
  }

  /** What others may change under our lease, they may: all else says that the lease is no longer ours. */
  async #readAgain(): Promise<void> {
    const entry = await this.#on.videos.get(this.#key);
    if (entry?.value.lease?.owner !== this.#owner) {
      this.abandon();
      throw new LeaseLost(this.#record.id);
    }
    this.#record = entry.value;
    this.#revision = entry.revision;
    if (entry.value.deleted) this.#unwanted.abort(new Error('the video was deleted'));
  }

  /** What a maker has answered must not be forgotten for the store's having been away for a moment. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#on.clock.after(AGAIN_MS, resolve);
    });
  }

  #extended(): VideoRecord['lease'] {
    return { owner: this.#owner, until: new Date(this.#on.clock.now() + LEASE_MS).toISOString() };
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#on.clock.after(RENEW_MS, () => {
      if (this.#over) return;
      this.#renewLater();
      this.change({}).catch(() => {
        // A store that is away may be back in time; a lease that has run out is another's to take.
        const { lease } = this.#record;
        if (lease !== null && Date.parse(lease.until) <= this.#on.clock.now()) this.abandon();
      });
    });
  }

  #stopRenewal(): void {
    this.#over = true;
    this.#cancelRenewal();
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'service_unavailable';
}
