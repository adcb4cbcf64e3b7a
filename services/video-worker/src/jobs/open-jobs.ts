// The jobs that are not over, in memory by a watch: each worker knows all of them, and takes those that are due. A watch
// that ends, or cannot be begun, is begun again for as long as it takes: without one, jobs of others would be missed.
import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import type { Bucket, Bus, Entry } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { type Clock, passed } from '@switchyard/service';
import { needsWork } from './advance.ts';
import { isHeld } from './held-job.ts';

/** Before a watch that failed is begun again. */
export const AGAIN_MS = 1_000;

type Watch = QueuedIterator<KvWatchEntry>;

export interface OpenJobsOptions {
  readonly bus: Pick<Bus, 'onReconnect' | 'logger'>;
  readonly videos: Pick<Bucket<VideoRecord>, 'kv' | 'read'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Told of every change. */
  readonly onChange: () => void;
}

export class OpenJobs {
  readonly #on: OpenJobsOptions;
  readonly #jobs = new Map<string, Entry<VideoRecord>>();
  readonly #closing = new AbortController();
  #watch: Watch | null = null;
  /** The link came back: the watch is stopped by us, and begun anew at once. */
  #relinked = false;
  #forget = () => {};

  constructor(on: OpenJobsOptions) {
    this.#on = on;
  }

  /** @throws what keeps the first watch from beginning */
  async open(): Promise<void> {
    await this.#begin();
    // A watch goes on over a lost link; one over a server that was made anew would not.
    this.#forget = this.#on.bus.onReconnect(() => {
      this.#relinked = true;
      this.#watch?.stop();
    });
    void this.#keepWatching();
  }

  close(): void {
    this.#closing.abort();
    this.#forget();
    this.#watch?.stop();
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** Jobs that nobody holds and whose time has come, the longest waiting first. */
  due(now: number): Entry<VideoRecord>[] {
    return [...this.#jobs.values()]
      .filter(({ value }) => Date.parse(value.next_at) <= now && !isHeld(value, now))
      .sort((a, b) => a.value.next_at.localeCompare(b.value.next_at));
  }

  async #keepWatching(): Promise<void> {
    const { bus, clock } = this.#on;
    const { signal } = this.#closing;
    while (!signal.aborted)
      try {
        if (!this.#watch) await this.#begin();
        await this.#follow();
      } catch (error) {
        bus.logger.warn({ err: error }, 'the watch of open videos ended; it is begun again');
      } finally {
        this.#watch = null;
        if (!this.#relinked) await passed(AGAIN_MS, clock, signal);
        this.#relinked = false;
      }
  }

  /** What there is comes with a new watch: what went while nobody watched is not in it. */
  async #begin(): Promise<void> {
    this.#watch = await this.#on.videos.kv.watch({ include: KvWatchInclude.LastValue });
    this.#jobs.clear();
    if (this.#closing.signal.aborted || this.#relinked) this.#watch.stop();
  }

  async #follow(): Promise<void> {
    for await (const entry of this.#watch ?? []) {
      this.#apply(entry);
      this.#on.onChange();
    }
  }

  #apply(entry: KvWatchEntry): void {
    this.#jobs.delete(entry.key);
    if (entry.operation !== 'PUT') return;
    try {
      const read = this.#on.videos.read(entry);
      if (needsWork(read.value)) this.#jobs.set(entry.key, read);
    } catch (error) {
      this.#on.bus.logger.error({ err: error, key: entry.key }, 'the record of a video cannot be read');
    }
  }
}
