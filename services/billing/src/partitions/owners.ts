// The partitions of one process. The process regularly reads the members and owners, takes its share of partitions,
// returns surplus ones, and stops all of them for a move.
import { type Bucket, type Lease, openBucket, takeLease } from '@switchyard/bus';
import { sleep, withTimeout } from '@switchyard/service';
import { type AccountRecords, openRecords } from '../accounts/records.ts';
import type { BooksWatch } from '../audit/watch.ts';
import { type OwnerDeps, ownPartition } from '../owner.ts';
import { assertUnmoved, type Layout, LayoutMoved, readLayout, UnknownLayout } from './layout.ts';
import { move, replaceFormerConsumers } from './move.ts';
import { type Partition, partitionsOf } from './partition.ts';
import { toGiveBack, toTake, UNCHANGED_MS, type View } from './shares.ts';

/** Time between two checks: the lease of a dead owner expires in 5 s, and is taken at the next check. */
const CHECK_MS = 500;
/** Time limit for reading the members. */
const MEMBERS_MS_MAX = 3_000;
/** Prefix of the leases of live processes, beside the leases of partitions. */
const MEMBER = 'billing-member';

interface OwnersDeps
  extends Pick<OwnerDeps, 'bus' | 'store' | 'logger' | 'clock' | 'logDays' | 'auditEveryMs'> {
  /** Milliseconds without change after which a surplus partition is returned. */
  readonly unchangedMs?: number;
  /** Called once, when every free partition is taken and served. */
  readonly onSettled: () => void;
  /** Returns all partitions after finishing the work in progress. */
  readonly signal: AbortSignal;
}

/** State of a partition that this process has just taken: its lease, its end signal and the shared records. */
interface Taken {
  readonly lease: Lease;
  readonly over: AbortController;
  readonly records: AccountRecords;
}

/** A partition of this process. */
interface Owned {
  readonly partition: Partition;
  readonly over: AbortController;
  ended: Promise<void>;
  watch: BooksWatch | null;
}

type Leases = Bucket<{ owner: string }>;

export class Owners {
  readonly #deps: OwnersDeps;
  readonly #owned = new Map<number, Owned>();
  #layout: Layout | null = null;
  /** Opened with the first partition of this process, closed with the last. */
  #records: AccountRecords | null = null;
  #leases: Leases | null = null;
  #member: Lease | null = null;
  /** The last view of members and owners, and since when it has been the same (monotonic clock). */
  #seen = '';
  #seenAt = 0;
  #freeAt: number | null = null;

  constructor(deps: OwnersDeps) {
    this.#deps = deps;
  }

  /** The checks of the books of this process's partitions. */
  get watches(): BooksWatch[] {
    return [...this.#owned.values()].flatMap(({ watch }) => watch ?? []);
  }

  /** Checks until the signal is aborted. Never throws: failures are retried at the next check. */
  async run(): Promise<void> {
    const { signal, clock } = this.#deps;
    while (!signal.aborted) {
      await this.#check().catch((error: unknown) => this.#failed(error));
      await sleep(CHECK_MS, clock, signal);
    }
    await Promise.all(this.#giveBackAll());
    await this.#member?.release();
  }

  #failed(error: unknown): void {
    const { signal, logger } = this.#deps;
    this.#leases = null; // the server may have lost the bucket: opening creates it again
    if (signal.aborted || error instanceof LayoutMoved) return; // the next check handles both
    if (!(error instanceof UnknownLayout)) {
      logger.warn({ err: error }, 'the partitions could not be checked; retrying');
      return;
    }
    this.#giveBackAll();
    logger.error(
      { alarm: 'layout_unknown', err: error },
      'billing is split in a way that this release does not know',
    );
  }

  async #check(): Promise<void> {
    const { bus, store, logger, clock, signal } = this.#deps;
    const layout = await readLayout(store);
    if (layout.moving_to !== null || layout.epoch !== (this.#layout?.epoch ?? layout.epoch)) {
      this.#layout = null;
      this.#giveBackAll();
      if (layout.moving_to !== null) await move(layout, { bus, store, logger, now: clock.now });
      return;
    }
    if (this.#layout === null && layout.epoch > 0) await replaceFormerConsumers(bus, layout);
    this.#layout = layout;
    this.#leases ??= await openBucket(bus, 'leases');
    const leases = this.#leases;
    for (let index = await this.#next(layout, leases); index !== null; ) {
      const taken = !signal.aborted && (await this.#take(layout, index));
      index = taken ? await this.#next(layout, leases) : null;
    }
  }

  /** Reads members and owners, and returns a surplus partition. Returns the partition to take, if any. */
  async #next(layout: Layout, leases: Leases): Promise<number | null> {
    const { bus, clock, unchangedMs = UNCHANGED_MS } = this.#deps;
    const owners = await Promise.all(
      partitionsOf(layout).map(async ({ index, lease }) => {
        const entry = await leases.get(lease);
        if (entry) return entry.value.owner;
        return this.#owned.has(index) ? bus.instance : null; // this process is still finishing its work there
      }),
    );
    const members = layout.partitions > 1 ? await this.#members(leases) : [];
    const now = clock.monotonic();
    const seen = JSON.stringify([layout.epoch, members, owners]);
    if (seen !== this.#seen) [this.#seen, this.#seenAt] = [seen, now];
    this.#freeAt = owners.includes(null) ? (this.#freeAt ?? now) : null;
    const view: View = {
      ...{ me: bus.instance, members, owners },
      freeForMs: this.#freeAt === null ? 0 : now - this.#freeAt,
      unchangedForMs: now - this.#seenAt,
    };
    const tooMany = toGiveBack(view, unchangedMs);
    if (tooMany !== null) this.#giveBack(tooMany);
    if (!owners.includes(null)) this.#settled();
    return toTake(view);
  }

  /** Announces this process and returns all live members. */
  async #members(leases: Leases): Promise<string[]> {
    const { bus } = this.#deps;
    const onLost = () => {
      this.#member = null;
    };
    this.#member ??= await takeLease({ bus, name: `${MEMBER}.${bus.instance}`, onLost });
    const late = () => new Error(`the members were not read within ${MEMBERS_MS_MAX} ms`);
    const keys = await withTimeout(leases.keys(`${MEMBER}.>`), MEMBERS_MS_MAX, late);
    return keys.map((key) => key.slice(MEMBER.length + 1)).sort();
  }

  /** @returns whether this process now owns the partition */
  async #take(layout: Layout, index: number): Promise<boolean> {
    const { bus, store } = this.#deps;
    const partition = partitionsOf(layout)[index];
    if (!partition) return false;
    const over = new AbortController();
    const lease = await takeLease({ bus, name: partition.lease, onLost: () => over.abort() });
    if (!lease) return false;
    try {
      // Prevents a race: a move checks leases first, so either it sees this lease or this check sees the move.
      await assertUnmoved(store, layout);
      this.#records ??= await openRecords(bus);
    } catch (error) {
      await lease.release();
      throw error;
    }
    this.#own(partition, { lease, over, records: this.#records });
    return true;
  }

  #own(partition: Partition, { lease, over, records }: Taken): void {
    const { bus, store, logger, clock, logDays, auditEveryMs } = this.#deps;
    const owned: Owned = { partition, over, watch: null, ended: Promise.resolve() };
    this.#owned.set(partition.index, owned);
    owned.ended = ownPartition({
      ...{ bus, store, partition, lease, records, logger, clock, logDays, auditEveryMs },
      signal: over.signal,
      onWatch: (watch) => {
        owned.watch = watch;
      },
      onServing: () => this.#settled(),
    })
      .catch((error: unknown) => {
        logger.warn({ err: error, lease: partition.lease }, 'a partition could not be owned; retrying');
      })
      .finally(() => this.#ended(partition.index));
  }

  #ended(index: number): void {
    this.#owned.delete(index);
    if (this.#owned.size > 0) return;
    this.#records?.close();
    this.#records = null;
  }

  #giveBack(index: number): void {
    this.#owned.get(index)?.over.abort();
  }

  #giveBackAll(): Promise<void>[] {
    const all = [...this.#owned.values()];
    for (const { over } of all) over.abort();
    return all.map(({ ended }) => ended);
  }

  /** Calls `onSettled` when every partition of this process serves, and none is free. */
  #settled(): void {
    const all = [...this.#owned.values()];
    if (all.length > 0 && all.every(({ watch }) => watch !== null) && this.#freeAt === null)
      this.#deps.onSettled();
  }
}
