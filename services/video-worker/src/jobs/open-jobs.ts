// The jobs that are not over, in memory by a watch: each worker knows all of them, and takes those that are due.
import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import type { Bucket, Bus, Entry } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { needsWork } from './advance.ts';
import { isHeld } from './held-job.ts';

export class OpenJobs {
  readonly #bus: Bus;
  readonly #videos: Bucket<VideoRecord>;
  readonly #onChange: () => void;
  readonly #jobs = new Map<string, Entry<VideoRecord>>();
  #watch: QueuedIterator<KvWatchEntry> | null = null;
  #forget = () => {};
  #closed = false;

  constructor(bus: Bus, videos: Bucket<VideoRecord>, onChange: () => void) {
    this.#bus = bus;
    this.#videos = videos;
    this.#onChange = onChange;
  }

  async open(): Promise<void> {
    await this.#begin();
    // A watch goes on over a lost link; one over a server that was made anew would not.
    this.#forget = this.#bus.onReconnect(() => void this.#beginAgain());
  }

  close(): void {
    this.#closed = true;
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

  async #beginAgain(): Promise<void> {
    try {
      if (!this.#closed) await this.#begin();
    } catch (error) {
      this.#bus.logger.warn({ err: error }, 'open videos could not be read anew');
    }
  }

  async #begin(): Promise<void> {
    const watch = await this.#videos.kv.watch({ include: KvWatchInclude.LastValue });
    this.#watch?.stop();
    this.#watch = watch;
    if (this.#closed) watch.stop();
    void this.#follow(watch);
  }

  async #follow(watch: QueuedIterator<KvWatchEntry>): Promise<void> {
    for await (const entry of watch) {
      this.#apply(entry);
      this.#onChange();
    }
  }

  #apply(entry: KvWatchEntry): void {
    this.#jobs.delete(entry.key);
    if (entry.operation !== 'PUT') return;
    try {
      const read = this.#videos.read(entry);
      if (needsWork(read.value)) this.#jobs.set(entry.key, read);
    } catch (error) {
      this.#bus.logger.error({ err: error, key: entry.key }, 'the record of a video cannot be read');
    }
  }
}
