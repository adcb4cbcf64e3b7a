// A lease: at most one holder at a time; it expires when the holder dies. Leases avoid duplicate work. Correctness must
// not depend on a lease, because a paused holder does not notice that time passed.

import { type Bucket, openBucket, RevisionConflict } from './bucket.ts';
import { BUCKETS } from './buckets.ts';
import type { Bus } from './bus.ts';

const RENEW_MS = BUCKETS.leases.ttlMs / 3;
/** A renewal without an answer is given up before the next one is due: the link may have lost it. */
const RENEWAL_MS_MAX = RENEW_MS - 100;
/** A holder stops this long after its last renewal: before the lease expires for others. */
const HELD_MS = BUCKETS.leases.ttlMs - 500;

interface LeaseOptions {
  bus: Bus;
  name: string;
  /** Called once when the lease could not be renewed in time: stop the work it protects. */
  onLost: () => void;
}

export interface Lease {
  release(): Promise<void>;
}

/** Takes the lease if it is free and renews it until it is released or lost; otherwise returns null. */
export async function takeLease({ bus, name, onLost }: LeaseOptions): Promise<Lease | null> {
  const bucket = await openBucket(bus, 'leases');
  const sentAt = performance.now();
  const revision = await tryTake(bus, bucket, name);
  return revision === null ? null : renewing(bus, bucket, name, { revision, sentAt }, onLost);
}

type Leases = Bucket<{ owner: string }>;

async function tryTake(bus: Bus, bucket: Leases, name: string): Promise<number | null> {
  try {
    return await bucket.create(name, { owner: bus.instance });
  } catch (error) {
    if (!(error instanceof RevisionConflict))
      bus.logger.warn({ err: error, lease: name }, 'a lease could not be requested');
    return null;
  }
}

/** @throws after `RENEWAL_MS_MAX` */
async function answered<T>(renewal: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('a renewal was not answered')), RENEWAL_MS_MAX);
  try {
    return await Promise.race([renewal, late.promise]);
  } finally {
    clearTimeout(timer);
    renewal.catch(() => {}); // it may fail later
  }
}

/** The server counts from some moment after the request was sent: the holder counts from that one. */
const heldMs = (sentAt: number) => HELD_MS - (performance.now() - sentAt);

interface Taken {
  readonly revision: number;
  /** When the lease was requested. */
  readonly sentAt: number;
}

function renewing(bus: Bus, bucket: Leases, name: string, taken: Taken, onLost: () => void): Lease {
  let { revision } = taken;
  let over = false;
  let renewal: Promise<void> | null = null;
  const lose = () => {
    if (over) return;
    end();
    bus.logger.warn({ lease: name }, 'a lease was lost');
    onLost();
  };
  /** After a conflict: the revision of our entry, which a renewal changed whose answer was lost. Null: not ours. */
  const ownRevision = async () => {
    const entry = await bucket.get(name).catch(() => null);
    return entry?.value.owner === bus.instance ? entry.revision : null;
  };
  let deadline = setTimeout(lose, heldMs(taken.sentAt));
  const renew = async (isRetry = false): Promise<void> => {
    const sentAt = performance.now();
    try {
      revision = await answered(bucket.update(name, { owner: bus.instance }, revision));
      clearTimeout(deadline);
      if (!over) deadline = setTimeout(lose, heldMs(sentAt));
    } catch (error) {
      if (!(error instanceof RevisionConflict)) return;
      const own = await ownRevision();
      if (isRetry || own === null) return lose();
      revision = own;
      await renew(true);
    }
  };
  const timer = setInterval(() => {
    renewal ??= renew().finally(() => {
      renewal = null;
    });
  }, RENEW_MS);
  const end = () => {
    over = true;
    clearInterval(timer);
    clearTimeout(deadline);
  };
  return {
    async release() {
      if (over) return;
      end();
      await renewal; // a renewal in flight changes the revision, and the next holder would wait until it expires
      try {
        await bucket.delete(name, revision);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) return; // the lease expires by itself
        const own = await ownRevision();
        if (own !== null) await bucket.delete(name, own).catch(() => {});
      }
    },
  };
}
