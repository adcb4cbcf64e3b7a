// Keeps all unfinished jobs in memory through a watch, so that each worker can take the jobs that are due. A watch that
// ends or fails to start is retried until it works; without it the worker would miss jobs of others.
import { type KvWatchEntry, KvWatchInclude } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import type { Bucket, Bus, Entry } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import { type Clock, sleep } from '@switchyard/service';
import { needsWork } from './advance.ts';
import { isHeld } from './held-job.ts';

/** Delay before a failed watch is restarted. */
export const RESTART_DELAY_MS = 1_000;

type Watch = QueuedIterator<KvWatchEntry>;

interface OpenJobsOptions {
  readonly bus: Pick<Bus, 'onReconnect' | 'logger'>;
  readonly videos: Pick<Bucket<VideoRecord>, 'kv' | 'read' | 'isGenuine'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Called on every change. */
  readonly onChange: () => void;
}

/** Usage by an org's unfinished jobs. */
export interface OpenUse {
  jobs: number;
  /** Bytes of their stored inputs. */
  bytes: number;
}

export class OpenJobs {
  readonly #deps: OpenJobsOptions;
  readonly #jobs = new Map<string, Entry<VideoRecord>>();
  readonly #closing = new AbortController();
  #watch: Watch | null = null;
  /** The connection came back: we stop the watch ourselves and restart it at once. */
  #reconnected = false;
  #forget = () => {};

  constructor(deps: OpenJobsOptions) {
    this.#deps = deps;
  }

  /** @throws the error that prevents the first watch */
  async open(): Promise<void> {
    await this.#begin();
    // A watch survives a lost connection, but not the replacement of the server.
    this.#forget = this.#deps.bus.onReconnect(() => {
      this.#reconnected = true;
      this.#watch?.stop();
    });
    void this.#keepWatching();
  }

  close(): void {
    this.#closing.abort();
    this.#forget();
    this.#watch?.stop();
  }

  /** Unleased jobs that are due, the longest waiting first. */
  due(now: number): Entry<VideoRecord>[] {
    return [...this.#jobs.values()]
      .filter(({ value }) => Date.parse(value.next_at) <= now && !isHeld(value, now))
      .sort((a, b) => a.value.next_at.localeCompare(b.value.next_at));
  }

  useOf(org: string): OpenUse {
    const jobs = [...this.#jobs.values()].filter(({ value }) => value.org === org);
    return { jobs: jobs.length, bytes: jobs.reduce((sum, { value }) => sum + value.input_bytes, 0) };
  }

  async #keepWatching(): Promise<void> {
    const { bus, clock } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted)
      try {
        if (!this.#watch) await this.#begin();
        await this.#follow();
      } catch (error) {
        bus.logger.warn({ err: error }, 'the watch of open videos ended; restarting it');
      } finally {
        this.#watch = null;
        if (!this.#reconnected) await sleep(RESTART_DELAY_MS, clock, signal);
        this.#reconnected = false;
      }
  }

  /**
   * Starts a new watch, which delivers all current entries but no deletions that happened while there was no watch.
   */
  async #begin(): Promise<void> {
    this.#watch = await this.#deps.videos.kv.watch({ include: KvWatchInclude.LastValue });
    this.#jobs.clear();
    if (this.#closing.signal.aborted || this.#reconnected) this.#watch.stop();
  }

  async #follow(): Promise<void> {
    for await (const entry of this.#watch ?? []) {
      this.#apply(entry);
      this.#deps.onChange();
    }
  }

  #apply(entry: KvWatchEntry): void {
    if (!this.#deps.videos.isGenuine(entry)) return;
    this.#jobs.delete(entry.key);
    if (entry.operation !== 'PUT') return;
    try {
      const read = this.#deps.videos.read(entry);
      if (needsWork(read.value)) this.#jobs.set(entry.key, read);
    } catch (error) {
      this.#deps.bus.logger.error({ err: error, key: entry.key }, 'the record of a video cannot be read');
    }
  }
}
