// A bucket kept in memory by a watch. A watch can go silent without a sign: its server died, its connection is half
// open, or its bucket was created again. So a silent mirror compares its revision with that of the bucket, and reads
// values from the bucket itself: a stale mirror must not accept a revoked key. Where reading is too slow, a tick ends
// the silence each second.

import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { ServiceError } from '@switchyard/contracts';
import { type Bucket, type Entry, TICK_KEY } from './bucket.ts';
import type { Bus } from './bus.ts';

/** How often the tick is written. */
export const TICK_MS = 1_000;
/** A mirror that received nothing for this long is stale, and restarts its watch if it missed a change. */
const SILENT_MS_MAX = 3_000;
/** Maximum bucket reads per second for keys missing in memory. A new key may not have arrived yet, but guessed keys
 * must not cause load. */
const MISSES_PER_SECOND_MAX = 200;
/** Time for the latest writes to arrive; most arrive within a millisecond or two. */
const CAUGHT_UP_MS_MAX = 2_000;
/** How often freshness is checked, and the minimum interval between comparisons of a silent mirror with its bucket. */
const CHECK_MS = 500;
const COMPARE_MS = 5_000;
/** A load that receives nothing for this long is begun again. */
const LOAD_SILENT_MS_MAX = 30_000;

/** Measures the age of values. */
interface AgeClock {
  monotonic(): number;
}

interface MirrorOptions<V> {
  readonly clock?: AgeClock;
  /** Other values take no memory, as if they did not exist; `lookup` still finds them. All by default. */
  readonly keeps?: (value: V) => boolean;
}

interface Known<V> extends Entry<V> {
  /** When it was received. A value that is loaded again was received before. */
  readonly at: number;
}

/** Starts mirroring; resolves when all present entries are loaded. */
export async function mirrorBucket<V>(
  bus: Bus,
  bucket: Bucket<V>,
  { clock = { monotonic: () => performance.now() }, keeps = () => true }: MirrorOptions<V> = {},
): Promise<Mirror<V>> {
  const mirror = new Mirror(bus, bucket, clock, keeps);
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
  readonly #clock: AgeClock;
  readonly #keeps: (value: V) => boolean;
  readonly #onChange = new Set<ChangeListener<V>>();
  /** In the order in which they were received. */
  #entries = new Map<string, Known<V>>();
  #watch: QueuedIterator<KvWatchEntry> | null = null;
  #seenAt = 0;
  /** Revision of the latest entry received. */
  #revision = 0;
  /**
   * Last revision of the bucket when it was loaded. What the load did not bring has left the bucket, or arrives later: a
   * replica may lag, so `caughtUp` does not count it.
   */
  #loadedTo = 0;
  readonly #awaited = new Set<() => void>();
  /** The request for the bucket's last revision, while it is in flight. */
  #asked: Promise<number> | null = null;
  /** The request after that one. */
  #askedNext: Promise<number> | null = null;
  /** When memory was loaded, or found to lack nothing. */
  #comparedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #missSecond = 0;
  #misses = 0;
  #comparing = false;
  #closed = false;

  constructor(bus: Bus, bucket: Bucket<V>, clock: AgeClock, keeps: (value: V) => boolean) {
    this.#bus = bus;
    this.#bucket = bucket;
    this.#clock = clock;
    this.#keeps = keeps;
  }

  /** Whether memory is known to be up to date. While nothing changes, only the mirror of a bucket with a tick is. */
  get fresh(): boolean {
    return performance.now() - this.#seenAt < SILENT_MS_MAX;
  }

  /**
   * The value from memory while memory is fresh. Missing or untrusted values are read from the bucket; a failure of
   * the bucket is thrown to the caller. Null for missing ones beyond `MISSES_PER_SECOND_MAX`.
   */
  lookup(key: string): V | null | Promise<V | null> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.fresh) return known.value;
    if (known === undefined && !this.#mayAskForMissing()) return null;
    return this.#bucket.get(key).then((entry) => entry?.value ?? null);
  }

  /** The value in memory, fresh or not (see `fresh`); does not read the bucket. */
  peek(key: string): V | null {
    return this.#entries.get(key)?.value ?? null;
  }

  /**
   * Milliseconds since the value in memory was received, at the earliest in the first load; infinite without a value.
   * The clock of its writer does not matter.
   */
  ageMs(key: string): number {
    const known = this.#entries.get(key);
    return known === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - known.at;
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
  entries(): Entry<V>[] {
    return [...this.#entries.values()];
  }

  /** The values as last seen of the keys that begin with a prefix. */
  valuesUnder(prefix: string): V[] {
    const found: V[] = [];
    for (const [key, { value }] of this.#entries) if (key.startsWith(prefix)) found.push(value);
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

  /** @throws Error when the watch ended, or was silent for too long, before all values were there */
  async load(): Promise<void> {
    const fresh = new Map<string, Known<V>>();
    const last = await this.#bucket.lastRevision();
    const watch = await this.#bucket.kv.watch({ include: KvWatchInclude.LastValue });
    this.#watch?.stop();
    if (this.#closed) return watch.stop();
    this.#watch = watch;
    const total = (await this.#bucket.kv.status()).values;
    await new Promise<void>((resolve, reject) => {
      let loaded = false;
      let until = last;
      let received = 0;
      let lagging: NodeJS.Timeout | undefined;
      const silent = setTimeout(() => watch.stop(), LOAD_SILENT_MS_MAX);
      const stopTimers = () => {
        clearTimeout(silent);
        clearTimeout(lagging);
      };
      const swap = () => {
        if (loaded || this.#closed) return;
        loaded = true;
        stopTimers();
        this.#loadedTo = until;
        this.#revision = received; // a bucket that was created again counts from the start
        this.#replace(fresh);
        resolve();
      };
      if (total === 0) swap();
      void (async () => {
        for await (const entry of watch) {
          this.#apply(fresh, entry, loaded);
          received = entry.revision;
          if (!loaded) {
            silent.refresh();
            // Either is enough: the entry with the last revision may have left, and the delta counts replaced entries too.
            const isLast = (entry.delta ?? 0) === 0;
            // What is written meanwhile comes after `until`: without it, its key would look removed.
            if (!isLast && received >= until) {
              clearTimeout(lagging);
              lagging = undefined;
              until = await this.#bucket.lastRevision();
            }
            // So would the key of an entry that a replica of the stream has not received yet.
            if (isLast && received < until && this.#entries.size > 0)
              lagging ??= setTimeout(swap, CAUGHT_UP_MS_MAX);
            else if (isLast || received >= until) swap();
          }
          if (this.#entries !== fresh) continue; // memory answers from current entries, not from entries being loaded
          this.#revision = entry.revision;
          for (const look of this.#awaited) look();
        }
        // The client library also ends a watch that it could not renew for minutes, without an error.
        if (loaded || this.#closed) resolve();
        else reject(new Error(`${this.#bucket.name} could not be read whole`));
      })()
        .catch((error: unknown) => {
          if (loaded) throw error; // a listener's
          reject(error);
        })
        .finally(stopTimers);
    });
    // The first load was just read and counts as fresh. After a silence only a new entry or tick does.
    if (this.#comparedAt === 0) this.#seenAt = performance.now();
    this.#comparedAt = performance.now();
    if (!this.#timer && !this.#closed) this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  #apply(map: Map<string, Known<V>>, entry: KvWatchEntry, live: boolean): void {
    if (!this.#bucket.isGenuine(entry)) return;
    if (live) this.#seenAt = performance.now();
    const { key, revision } = entry;
    if (key === TICK_KEY) return;
    const known = this.#entries.get(key);
    const previous = map.get(key)?.value ?? null;
    map.delete(key); // a value is set at the end of the map: see `#dropExpired`
    const value = this.#valueOf(entry);
    if (value !== null) {
      const at = known?.revision === revision ? known.at : this.#clock.monotonic();
      map.set(key, { key, value, revision, at });
    }
    if (!live || (value === null && previous === null)) return;
    for (const listener of this.#onChange) listener(key, value, previous);
  }

  /** Null also for an unreadable record, which must not leave the previous value in place. */
  #valueOf(entry: KvWatchEntry): V | null {
    if (entry.operation !== 'PUT') return null;
    try {
      const { value } = this.#bucket.read(entry);
      return this.#keeps(value) ? value : null;
    } catch (error) {
      const { key } = entry;
      this.#bus.logger.error({ err: error, bucket: this.#bucket.name, key }, 'an unreadable record');
      return null;
    }
  }

  /** Replaces the memory and reports entries that were added, changed or removed while no watch ran. */
  #replace(fresh: Map<string, Known<V>>): void {
    const former = this.#entries;
    this.#entries = fresh;
    for (const [key, { value: previous }] of former) {
      const value = fresh.get(key)?.value ?? null;
      if (JSON.stringify(value) === JSON.stringify(previous)) continue;
      for (const listener of this.#onChange) listener(key, value, previous);
    }
    for (const [key, { value }] of fresh)
      if (!former.has(key)) for (const listener of this.#onChange) listener(key, value, null);
  }

  /** Drops values that have left the bucket because of their age: a watch does not report that. */
  #dropExpired(): void {
    const keptMs = 2 * this.#bucket.ttlMs; // the server may be late: memory forgets after the bucket
    if (keptMs === 0) return;
    for (const [key, { value, at }] of this.#entries) {
      if (this.#clock.monotonic() - at < keptMs) return; // all others were received later
      this.#entries.delete(key);
      for (const listener of this.#onChange) listener(key, null, value);
    }
  }

  #check(): void {
    this.#dropExpired();
    if (this.fresh || this.#comparing || this.#closed || !this.#bus.connected) return;
    if (performance.now() - this.#comparedAt < COMPARE_MS) return;
    this.#comparing = true;
    this.#reloadIfBehind()
      .catch((error: unknown) => {
        this.#bus.logger.warn({ err: error, bucket: this.#bucket.name }, 'a watch could not be restarted');
      })
      .finally(() => {
        this.#comparing = false;
      });
  }

  /** A silent mirror may lack nothing: reloading many entries blocks the process for a while. */
  async #reloadIfBehind(): Promise<void> {
    const last = await this.#lastRevision();
    if (this.fresh || this.#closed) return;
    if (last === Math.max(this.#revision, this.#loadedTo)) this.#comparedAt = performance.now();
    else await this.load();
  }
}

function behind(bucket: string): ServiceError {
  const message = `The latest changes of ${bucket} cannot be read at the moment. Retry later.`;
  return new ServiceError('service_unavailable', message, { retryAfterS: 1 });
}
