// A bucket kept in memory by a watch. A bucket with a tick makes silence noticeable: a half-open connection or a
// recreated bucket shows no other sign, and a stale mirror must not accept a revoked key.

import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { ServiceError } from '@switchyard/contracts';
import { type Bucket, TICK_KEY } from './bucket.ts';
import type { Bus } from './bus.ts';

/** How often the tick is written. */
export const TICK_MS = 1_000;
/** A mirror without a tick for this long reads from the bucket itself, and restarts its watch if it missed a change. */
const TICK_SILENT_MS_MAX = 3_000;
/** Maximum bucket reads per second for keys missing in memory. A new key may not have arrived yet, but guessed keys
 * must not cause load. */
const MISSES_PER_SECOND_MAX = 200;
/** Time for the latest writes to arrive; most arrive within a millisecond or two. */
const CAUGHT_UP_MS_MAX = 2_000;
/** How often freshness is checked, and the minimum interval between restarts of a silent watch. */
const CHECK_MS = 500;
const RELOAD_MS = 5_000;

interface MirrorOptions {
  /** Whether the bucket has a tick. */
  tick: boolean;
  /** Measures the age of values. Default: the process's own clock. */
  clock?: { monotonic(): number };
}

/** Starts mirroring; resolves when all present entries are loaded. */
export async function mirrorBucket<V>(
  bus: Bus,
  bucket: Bucket<V>,
  options: MirrorOptions,
): Promise<Mirror<V>> {
  const mirror = new Mirror(bus, bucket, options);
  try {
    await mirror.load();
  } catch (error) {
    mirror.close(); // its watch may be open
    throw error;
  }
  return mirror;
}

/** `value` is null when the key was removed; `previous` is the value in memory, null if there was none. */
type ChangeListener<V> = (key: string, value: V | null, previous: V | null) => void;

export class Mirror<V> {
  readonly #bus: Bus;
  readonly #bucket: Bucket<V>;
  readonly #tick: boolean;
  readonly #clock: { monotonic(): number };
  readonly #onChange = new Set<ChangeListener<V>>();
  #entries = new Map<string, V>();
  /** When each value was received, on the monotonic clock. A value that is loaded again was received before. */
  readonly #received = new Map<string, { readonly revision: number; readonly at: number }>();
  #watch: QueuedIterator<KvWatchEntry> | null = null;
  #seenAt = 0;
  /** Revision of the latest entry received. */
  #revision = 0;
  readonly #awaited = new Set<() => void>();
  /** The request for the bucket's last revision, while it is in flight. */
  #asked: Promise<number> | null = null;
  /** The request after that one. */
  #askedNext: Promise<number> | null = null;
  #loadedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #missSecond = 0;
  #misses = 0;
  #reloading = false;
  #closed = false;

  constructor(
    bus: Bus,
    bucket: Bucket<V>,
    { tick, clock = { monotonic: () => performance.now() } }: MirrorOptions,
  ) {
    this.#bus = bus;
    this.#bucket = bucket;
    this.#tick = tick;
    this.#clock = clock;
  }

  /** Whether memory is up to date at this moment. */
  get fresh(): boolean {
    return !this.#tick || performance.now() - this.#seenAt < TICK_SILENT_MS_MAX;
  }

  /**
   * The value from memory while memory is fresh. Missing or untrusted values are read from the bucket; a failure of
   * the bucket is thrown to the caller.
   */
  lookup(key: string): V | null | Promise<V | null> {
    if (this.fresh) {
      const known = this.#entries.get(key);
      if (known !== undefined) return known;
      if (!this.#mayAskForMissing()) return null;
    }
    return this.#bucket.get(key).then((entry) => entry?.value ?? null);
  }

  /** The value in memory, fresh or not (see `fresh`); does not read the bucket. */
  peek(key: string): V | null {
    return this.#entries.get(key) ?? null;
  }

  /**
   * Milliseconds since the value in memory was received, at the earliest in the first load; infinite without a value.
   * The clock of its writer does not matter.
   */
  ageMs(key: string): number {
    const received = this.#entries.has(key) ? this.#received.get(key) : undefined;
    return received === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - received.at;
  }

  /**
   * Resolves when memory contains everything that was in the bucket at the time of the call: a record missing then did
   * not exist. Concurrent calls share one request to the bucket at a time.
   * @throws ServiceError `service_unavailable`, also after `withinMs`: a missing record may still arrive
   */
  async caughtUp(withinMs = CAUGHT_UP_MS_MAX): Promise<void> {
    const last = await this.#lastRevision();
    if (this.#revision >= last) return;
    const arrival = Promise.withResolvers<void>();
    const look = () => {
      if (this.#revision >= last) arrival.resolve();
    };
    const giveUp = () => arrival.reject(behind(this.#bucket.name));
    // After a pause of this process its timers run before it reads what arrived meanwhile.
    const timer = setTimeout(() => setImmediate(giveUp), withinMs);
    this.#awaited.add(look);
    try {
      await arrival.promise;
    } finally {
      clearTimeout(timer);
      this.#awaited.delete(look);
    }
  }

  /** Last revision of the bucket. Calls during a request share the next one: the one in flight may be outdated. */
  #lastRevision(): Promise<number> {
    if (this.#asked === null) {
      this.#asked = this.#bucket.lastRevision().finally(() => {
        this.#asked = null;
      });
      return this.#asked;
    }
    const askAgain = () => {
      this.#askedNext = null;
      return this.#lastRevision();
    };
    this.#askedNext ??= this.#asked.then(askAgain, askAgain);
    return this.#askedNext;
  }

  #mayAskForMissing(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#missSecond) {
      this.#missSecond = second;
      this.#misses = 0;
    }
    this.#misses += 1;
    return this.#misses <= MISSES_PER_SECOND_MAX;
  }

  /** All entries as last seen. */
  entries(): [string, V][] {
    return [...this.#entries];
  }

  /** The values as last seen of the keys that begin with a prefix. */
  valuesUnder(prefix: string): V[] {
    const found: V[] = [];
    for (const [key, value] of this.#entries) if (key.startsWith(prefix)) found.push(value);
    return found;
  }

  /** Reports every change after the first load. Returns a function that stops it. */
  onChange(listener: ChangeListener<V>): () => void {
    this.#onChange.add(listener);
    return () => this.#onChange.delete(listener);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearInterval(this.#timer);
    this.#watch?.stop();
  }

  async load(): Promise<void> {
    const fresh = new Map<string, V>();
    const watch = await this.#bucket.kv.watch({ include: KvWatchInclude.LastValue });
    this.#watch?.stop();
    this.#watch = watch;
    const total = (await this.#bucket.kv.status()).values;
    await new Promise<void>((resolve) => {
      let loaded = false;
      const swap = () => {
        loaded = true;
        this.#replace(fresh);
        resolve();
      };
      if (total === 0) swap();
      void (async () => {
        for await (const entry of watch) {
          this.#apply(fresh, entry, loaded);
          if (!loaded && (entry.delta ?? 0) === 0) swap();
          if (this.#entries !== fresh) continue; // memory answers from current entries, not from entries being loaded
          this.#revision = entry.revision;
          for (const look of this.#awaited) look();
        }
        resolve();
        // The client library ends a watch that it could not renew for minutes, without an error.
        this.#loadAfter(watch);
      })();
    });
    // The first load was just read and counts as fresh. After a silence only a new tick does.
    if (this.#loadedAt === 0) this.#seenAt = performance.now();
    this.#loadedAt = performance.now();
    if (this.#tick && !this.#timer && !this.#closed) this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  /**
   * Loads again some seconds after the end of a watch, unless it was replaced or stopped. A bucket with a tick is checked
   * anyway.
   */
  #loadAfter(ended: QueuedIterator<KvWatchEntry>): void {
    const isOver = () => this.#closed || this.#watch !== ended || this.#bus.nc.isClosed();
    if (this.#tick || isOver()) return;
    setTimeout(() => {
      if (isOver()) return;
      this.load().catch((error: unknown) => {
        this.#bus.logger.warn({ err: error, bucket: this.#bucket.name }, 'a watch could not be restarted');
        this.#loadAfter(this.#watch ?? ended);
      });
    }, RELOAD_MS).unref();
  }

  #apply(map: Map<string, V>, entry: KvWatchEntry, live: boolean): void {
    if (!this.#bucket.isGenuine(entry)) return;
    if (live) this.#seenAt = performance.now();
    if (entry.key === TICK_KEY) return;
    const previous = map.get(entry.key) ?? null;
    const tell = (value: V | null) => {
      if (live) for (const listener of this.#onChange) listener(entry.key, value, previous);
    };
    if (entry.operation !== 'PUT') {
      this.#received.delete(entry.key);
      if (map.delete(entry.key)) tell(null);
      return;
    }
    try {
      const { value } = this.#bucket.read(entry);
      const { key, revision } = entry;
      if (this.#received.get(key)?.revision !== revision)
        this.#received.set(key, { revision, at: this.#clock.monotonic() });
      map.set(entry.key, value);
      tell(value);
    } catch (error) {
      // An unreadable record must not leave the previous value in place.
      if (map.delete(entry.key)) tell(null);
      this.#bus.logger.error(
        { err: error, bucket: this.#bucket.name, key: entry.key },
        'an unreadable record',
      );
    }
  }

  /** Replaces the memory and reports entries that were added, changed or removed while no watch ran. */
  #replace(fresh: Map<string, V>): void {
    const former = this.#entries;
    this.#entries = fresh;
    for (const [key, previous] of former) {
      const value = fresh.get(key) ?? null;
      if (value === null) this.#received.delete(key);
      if (JSON.stringify(value) === JSON.stringify(previous)) continue;
      for (const listener of this.#onChange) listener(key, value, previous);
    }
    for (const [key, value] of fresh)
      if (!former.has(key)) for (const listener of this.#onChange) listener(key, value, null);
  }

  #check(): void {
    if (this.fresh || this.#reloading || this.#closed || !this.#bus.connected) return;
    if (performance.now() - this.#loadedAt < RELOAD_MS) return;
    this.#reloading = true;
    this.#reloadIfBehind()
      .catch((error: unknown) => {
        this.#bus.logger.warn({ err: error, bucket: this.#bucket.name }, 'a watch could not be restarted');
      })
      .finally(() => {
        this.#reloading = false;
      });
  }

  /** Without a writer of ticks, memory may lack nothing: reloading many entries blocks the process for a while. */
  async #reloadIfBehind(): Promise<void> {
    const last = await this.#lastRevision();
    if (this.fresh || this.#closed) return;
    if (this.#revision === last) this.#loadedAt = performance.now();
    else await this.load();
  }
}

function behind(bucket: string): ServiceError {
  const message = `The latest changes of ${bucket} cannot be read at the moment. Retry later.`;
  return new ServiceError('service_unavailable', message, { retryAfterS: 1 });
}
