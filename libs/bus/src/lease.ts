// A lease: at most one holder at a time; it expires when the holder dies. Leases avoid duplicate work. Correctness must
// not depend on a lease, because a paused holder does not notice that time passed.

import { type Bucket, openBucket, RevisionConflict } from './bucket.ts';
import { BUCKETS } from './buckets.ts';
import type { Bus } from './bus.ts';

const RENEW_MS = BUCKETS.leases.ttlMs / 3;
const TRY_AGAIN_MS = 500;

interface LeaseOptions {
  bus: Bus;
  name: string;
  /** Called once when the lease could not be renewed in time: stop the work it protects. */
  onLost: () => void;
  signal?: AbortSignal;
}

export interface Lease {
  release(): Promise<void>;
}

/**
 * Waits until it gets the lease, then renews it until it is released or lost.
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

/** Takes the lease if it is free and renews it until it is released or lost; otherwise returns null. */
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
      await renewed; // a renewal in flight changes the revision, and the next holder would wait until it expires
      await bucket.delete(name, revision).catch(() => {}); // the lease expires by itself
    },
  };
}
