// A bucket kept in memory by a watch. For buckets with a tick, silence is noticed: a half-open link or a bucket made
// anew shows no other sign, and a mirror that cannot vouch for itself must not let a revoked key in.

import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { type Bucket, TICK_KEY } from './bucket.ts';
import type { Bus } from './bus.ts';

/** How often the tick is written. */
export const TICK_MS = 1_000;
/** A mirror that saw no tick for this long answers from the bucket itself, and starts its watch anew. */
export const TICK_SILENT_MS_MAX = 3_000;
/** Keys that memory does not have are looked up in the bucket this often in a second: what was made a moment ago may be
 * on its way, and guessing must not become load. */
const MISSES_PER_SECOND_MAX = 200;
/** How often freshness is looked at, and how often a silent watch is started anew at the most. */
const CHECK_MS = 500;
const RELOAD_MS = 5_000;

export interface MirrorOptions {
  /** The bucket has a tick. */
  tick: boolean;
}

/** Starts mirroring; resolves when everything that is there now has been loaded. */
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

/** `value` is null when the key went; `previous` is what memory had, null if nothing. */
export type ChangeListener<V> = (key: string, value: V | null, previous: V | null) => void;

export class Mirror<V> {
  readonly #bus: Bus;
  readonly #bucket: Bucket<V>;
  readonly #tick: boolean;
  readonly #onChange = new Set<ChangeListener<V>>();
  #entries = new Map<string, V>();
  #watch: QueuedIterator<KvWatchEntry> | null = null;
  #seenAt = 0;
  /** Of the entry that came last. */
  #revision = 0;
  readonly #awaited = new Set<() => void>();
  /** The bucket's last revision, while it is asked for. */
  #asked: Promise<number> | null = null;
  /** The answer after it. */
  #askedNext: Promise<number> | null = null;
  #loadedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #missSecond = 0;
  #misses = 0;
  #reloading = false;
  #closed = false;

  constructor(bus: Bus, bucket: Bucket<V>, { tick }: MirrorOptions) {
    this.#bus = bus;
    this.#bucket = bucket;
    this.#tick = tick;
  }

  /** Whether the memory may be trusted at this moment. */
  get fresh(): boolean {
    return !this.#tick || performance.now() - this.#seenAt < TICK_SILENT_MS_MAX;
  }

  /**
   * The value from memory while it may be trusted; what memory lacks, or may not be trusted with, from the bucket (whose
   * failure is the caller's failure).
   */
  lookup(key: string): V | null | Promise<V | null> {
    if (this.fresh) {
      const known = this.#entries.get(key);
      if (known !== undefined) return known;
      if (!this.#mayAskForMissing()) return null;
    }
    return this.#bucket.get(key).then((entry) => entry?.value ?? null);
  }

  /** What memory has, whether it may be trusted (see `fresh`) or not; the bucket is not asked. */
  peek(key: string): V | null {
    return this.#entries.get(key) ?? null;
  }

  /**
   * Resolves when memory has what was in the bucket when this was called: with true, a record that it lacks then was
   * not there. With false after `withinMs`: what it lacks may be on its way still. However many ask, the bucket is asked
   * one question at a time.
   * @throws ServiceError `service_unavailable`
   */
  async caughtUp(withinMs: number): Promise<boolean> {
    const last = await this.#lastRevision();
    if (this.#revision >= last) return true;
    return new Promise<boolean>((resolve) => {
      const end = (caughtUp: boolean) => {
        clearTimeout(timer);
        this.#awaited.delete(look);
        resolve(caughtUp);
      };
      const look = () => {
        if (this.#revision >= last) end(true);
      };
      const timer = setTimeout(end, withinMs, false);
      this.#awaited.add(look);
    });
  }

  /** Of what is in the bucket now. Who comes while it is asked shares the next answer: the one under way may be from before. */
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

  /** Tells of every change after the first load. Returns how to stop it. */
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
          if (this.#entries !== fresh) continue; // memory vouches for what it has, not for what it loads
          this.#revision = entry.revision;
          for (const look of this.#awaited) look();
        }
        resolve();
      })();
    });
    // Read a moment ago, the first load vouches for itself. After a silence only a new tick does.
    if (this.#loadedAt === 0) this.#seenAt = performance.now();
    this.#loadedAt = performance.now();
    if (this.#tick && !this.#timer && !this.#closed) this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  #apply(map: Map<string, V>, entry: KvWatchEntry, live: boolean): void {
    if (live) this.#seenAt = performance.now();
    if (entry.key === TICK_KEY) return;
    const previous = map.get(entry.key) ?? null;
    const tell = (value: V | null) => {
      if (live) for (const listener of this.#onChange) listener(entry.key, value, previous);
    };
    if (entry.operation !== 'PUT') {
      if (map.delete(entry.key)) tell(null);
      return;
    }
    try {
      const { value } = this.#bucket.read(entry);
      map.set(entry.key, value);
      tell(value);
    } catch (error) {
      // An unreadable record must not stand for what it replaced.
      if (map.delete(entry.key)) tell(null);
      this.#bus.logger.error(
        { err: error, bucket: this.#bucket.name, key: entry.key },
        'an unreadable record',
      );
    }
  }

  /** Swaps the memory, telling listeners of what went while nobody watched. */
  #replace(fresh: Map<string, V>): void {
    const gone = [...this.#entries].filter(([key]) => !fresh.has(key));
    this.#entries = fresh;
    for (const [key, previous] of gone) for (const listener of this.#onChange) listener(key, null, previous);
  }

  #check(): void {
    if (this.fresh || this.#reloading || this.#closed || !this.#bus.connected) return;
    if (performance.now() - this.#loadedAt < RELOAD_MS) return;
    this.#reloading = true;
    this.load()
      .catch((error: unknown) => {
        this.#bus.logger.warn({ err: error, bucket: this.#bucket.name }, 'a watch could not be started anew');
      })
      .finally(() => {
        this.#reloading = false;
      });
  }
}
