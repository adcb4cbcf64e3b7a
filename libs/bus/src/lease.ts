// A lease: at most one holder at a time, gone by itself when the holder is. It keeps writers quiet; correctness must
// not rest on it, since a paused holder does not know that time went by.

import { type Bucket, openBucket, RevisionConflict } from './bucket.ts';
import { BUCKETS } from './buckets.ts';
import type { Bus } from './bus.ts';

const RENEW_MS = BUCKETS.leases.ttlMs / 3;
const TRY_AGAIN_MS = 500;

export interface LeaseOptions {
  bus: Bus;
  name: string;
  /** Called once when the lease could not be renewed in time: stop what it allowed. */
  onLost: () => void;
  signal?: AbortSignal;
}

export interface Lease {
  release(): Promise<void>;
}

/**
 * Waits until the lease is ours, then renews it until it is released or lost.
 * @throws the signal's reason when it is aborted while waiting.
 */
export async function holdLease({ bus, name, onLost, signal }: LeaseOptions): Promise<Lease> {
  const bucket = await openBucket(bus, 'leases');
  for (;;) {
    signal?.throwIfAborted();
    const revision = await tryTake(bus, bucket, name);
    if (revision !== null) return renewing(bus, bucket, name, revision, onLost);
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
}

/** The lease, where nobody has it now: renewed until it is released or lost; else null. */
export async function takeLease({ bus, name, onLost }: Omit<LeaseOptions, 'signal'>): Promise<Lease | null> {
  const bucket = await openBucket(bus, 'leases');
  const revision = await tryTake(bus, bucket, name);
  return revision === null ? null : renewing(bus, bucket, name, revision, onLost);
}

type Leases = Bucket<{ owner: string }>;

async function tryTake(bus: Bus, bucket: Leases, name: string): Promise<number | null> {
  try {
    return await bucket.create(name, { owner: bus.instance });
  } catch (error) {
    if (!(error instanceof RevisionConflict))
      bus.logger.warn({ err: error, lease: name }, 'a lease could not be asked for');
    return null;
  }
}

function renewing(bus: Bus, bucket: Leases, name: string, first: number, onLost: () => void): Lease {
  let revision = first;
  let renewedAt = performance.now();
  let over = false;
  const lose = () => {
    if (over) return;
    over = true;
    clearInterval(timer);
    bus.logger.warn({ lease: name }, 'a lease was lost');
    onLost();
  };
  const renew = async () => {
    try {
      const sentAt = performance.now();
      revision = await bucket.update(name, { owner: bus.instance }, revision);
      renewedAt = sentAt;
    } catch (error) {
      if (
        error instanceof RevisionConflict ||
        performance.now() - renewedAt > BUCKETS.leases.ttlMs - RENEW_MS
      )
        lose();
    }
  };
  let renewed: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    const before = renewed;
    renewed = renew().then(() => before);
  }, RENEW_MS);
  return {
    async release() {
      if (over) return;
      over = true;
      clearInterval(timer);
      await renewed; // one that is under way moves the revision on, and the next holder would wait until it runs out
      await bucket.delete(name, revision).catch(() => {}); // it runs out by itself
    },
  };
}
