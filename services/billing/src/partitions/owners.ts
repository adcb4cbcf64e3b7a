// The partitions of one process: it looks again and again at who lives and who owns what, takes its share and gives back
// what is another's, and stops all of it when billing is being split anew.
import { type Bucket, type Bus, type Lease, openBucket, takeLease } from '@switchyard/bus';
import { type Clock, inTime, type Logger, passed } from '@switchyard/service';
import { type AccountRecords, openRecords } from '../accounts/records.ts';
import type { BooksWatch } from '../audit/watch.ts';
import { type OwnerOptions, ownPartition } from '../owner.ts';
import type { Store } from '../store/store.ts';
import { assertUnmoved, type Layout, LayoutMoved, readLayout, UnknownLayout } from './layout.ts';
import { move, removeFormerConsumers } from './move.ts';
import { type Partition, partitionsOf } from './partition.ts';
import { REST_MS, toGiveBack, toTake, type View } from './shares.ts';

/** Between two looks: a dead owner's lease runs out in 5 s, and is taken at the next look. */
const LOOK_MS = 500;
/** Reading who lives. */
const MEMBERS_MS_MAX = 3_000;
/** Leases of processes that live, beside those of partitions. */
const MEMBER = 'billing-member';

export interface OwnersOptions extends Pick<OwnerOptions, 'logDays' | 'auditEveryMs'> {
  readonly bus: Bus;
  readonly store: Store;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Milliseconds at rest after which one too many is given back. */
  readonly restMs?: number;
  /** Called once: what there is to take is taken, and served. */
  readonly onSettled: () => void;
  /** Gives everything back: what is in hand is finished first. */
  readonly signal: AbortSignal;
}

/** What a partition is owned with. */
interface Taken {
  readonly lease: Lease;
  readonly over: AbortController;
  readonly records: AccountRecords;
}

/** A partition that is ours. */
interface Owned {
  readonly partition: Partition;
  readonly over: AbortController;
  ended: Promise<void>;
  watch: BooksWatch | null;
}

type Leases = Bucket<{ owner: string }>;

export class Owners {
  readonly #on: OwnersOptions;
  readonly #owned = new Map<number, Owned>();
  #layout: Layout | null = null;
  /** Opened with the first partition that is ours, closed with the last: made anew whenever all of it is. */
  #records: AccountRecords | null = null;
  #leases: Leases | null = null;
  #member: Lease | null = null;
  /** What was seen last, and since when (of the clock that never steps). */
  #seen = '';
  #seenAt = 0;
  #freeAt: number | null = null;

  constructor(options: OwnersOptions) {
    this.#on = options;
  }

  /** What looks at the books of the partitions that are ours. */
  get watches(): BooksWatch[] {
    return [...this.#owned.values()].flatMap(({ watch }) => watch ?? []);
  }

  /** Looks until the signal is aborted. Never throws: what fails is tried again at the next look. */
  async run(): Promise<void> {
    const { signal, clock } = this.#on;
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => this.#failed(error));
      await passed(LOOK_MS, clock, signal);
    }
    await Promise.all(this.#giveBackAll());
    await this.#member?.release();
  }

  #failed(error: unknown): void {
    const { signal, logger } = this.#on;
    this.#leases = null; // the server may have lost the bucket: it is opened, and so made, anew
    if (signal.aborted || error instanceof LayoutMoved) return; // seen at the next look
    if (!(error instanceof UnknownLayout)) {
      logger.warn({ err: error }, 'the partitions could not be looked at; they are again');
      return;
    }
    this.#giveBackAll();
    logger.error(
      { alarm: 'layout_unknown', err: error },
      'billing is split in a way that this release does not know',
    );
  }

  async #look(): Promise<void> {
    const { bus, store, logger, clock, signal } = this.#on;
    const layout = await readLayout(store);
    if (layout.moving_to !== null || layout.epoch !== (this.#layout?.epoch ?? layout.epoch)) {
      this.#layout = null;
      this.#giveBackAll();
      if (layout.moving_to !== null) await move(layout, { bus, store, logger, now: clock.now });
      return;
    }
    if (this.#layout === null && layout.epoch > 0) await removeFormerConsumers(bus, layout);
    this.#layout = layout;
    this.#leases ??= await openBucket(bus, 'leases');
    const leases = this.#leases;
    for (let index = await this.#next(layout, leases); index !== null; ) {
      const taken = !signal.aborted && (await this.#take(layout, index));
      index = taken ? await this.#next(layout, leases) : null;
    }
  }

  /** Looks at who lives and who owns what; gives one back where we have too many. The partition to take, if any. */
  async #next(layout: Layout, leases: Leases): Promise<number | null> {
    const { bus, clock, restMs = REST_MS } = this.#on;
    const owners = await Promise.all(
      partitionsOf(layout).map(async ({ index, lease }) => {
        const entry = await leases.get(lease);
        if (entry) return entry.value.owner;
        return this.#owned.has(index) ? bus.instance : null; // what was ours is still being finished
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
      restedForMs: now - this.#seenAt,
    };
    const tooMany = toGiveBack(view, restMs);
    if (tooMany !== null) this.#giveBack(tooMany);
    if (!owners.includes(null)) this.#settled();
    return toTake(view);
  }

  /** Says that we live, and who else does. */
  async #members(leases: Leases): Promise<string[]> {
    const { bus } = this.#on;
    const onLost = () => {
      this.#member = null;
    };
    this.#member ??= await takeLease({ bus, name: `${MEMBER}.${bus.instance}`, onLost });
    const late = () => new Error(`the bus has not said for ${MEMBERS_MS_MAX} ms who lives`);
    const keys = await inTime(leases.keys(`${MEMBER}.*`), MEMBERS_MS_MAX, late);
    return keys.map((key) => key.slice(MEMBER.length + 1)).sort();
  }

  /** @returns whether it is ours now. */
  async #take(layout: Layout, index: number): Promise<boolean> {
    const { bus, store } = this.#on;
    const partition = partitionsOf(layout)[index];
    if (!partition) return false;
    const over = new AbortController();
    const lease = await takeLease({ bus, name: partition.lease, onLost: () => over.abort() });
    if (!lease) return false;
    try {
      // Whoever moves looks for leases first: either it has seen ours, or we see that it moves.
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
    const { bus, store, logger, clock, logDays, auditEveryMs } = this.#on;
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
        logger.warn(
          { err: error, lease: partition.lease },
          'a partition could not be owned; it is tried again',
        );
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

  /** All that is ours serves, and nothing is free. */
  #settled(): void {
    const all = [...this.#owned.values()];
    if (all.length > 0 && all.every(({ watch }) => watch !== null) && this.#freeAt === null)
      this.#on.onSettled();
  }
}
