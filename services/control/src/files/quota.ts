// How much an org stores, exact: bytes are set apart by compare-and-set before they are stored, and count until they are
// gone. An upload is in `arriving` until its record is made, a deletion in `leaving` until the content is gone; whoever
// dies in between leaves such an entry, and the sweep (sweeper.ts) finishes what it stands for.
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import { type FileUsage, ServiceError } from '@switchyard/contracts';
import { type Clock, Lock } from '@switchyard/service';

/** Compare-and-sets that are lost in a row to other instances: each loss is another one's success. */
const CONFLICTS_MAX = 100;
const NOTHING: FileUsage = { bytes: 0, arriving: {}, leaving: {} };

export interface QuotaOptions {
  readonly usage: Bucket<FileUsage>;
  /** Bytes that an org may store. */
  readonly bytesMax: number;
  readonly clock: Pick<Clock, 'now'>;
}

export class Quota {
  readonly bytesMax: number;
  readonly #usage: Bucket<FileUsage>;
  readonly #clock: Pick<Clock, 'now'>;
  /** One instance's own changes wait for each other instead of losing to each other. */
  readonly #locks = new Map<string, Lock>();

  constructor({ usage, bytesMax, clock }: QuotaOptions) {
    this.#usage = usage;
    this.bytesMax = bytesMax;
    this.#clock = clock;
  }

  async usage(org: string): Promise<FileUsage> {
    return (await this.#usage.get(org))?.value ?? NOTHING;
  }

  async orgs(): Promise<string[]> {
    return this.#usage.keys();
  }

  /** An upload begins: sets bytes apart for it. Answers false, and changes nothing, where they do not fit. */
  begin(org: string, id: string, bytes: number): Promise<boolean> {
    return this.#setApart(org, id, bytes, () => {});
  }

  /**
   * Sets another number of bytes apart for an upload that is on, and says that it is.
   * @throws ServiceError `service_unavailable` when it was given up meanwhile.
   */
  change(org: string, id: string, bytes: number): Promise<boolean> {
    return this.#setApart(org, id, bytes, ({ arriving }) => {
      if (!Object.hasOwn(arriving, id))
        throw new ServiceError('service_unavailable', 'the upload took too long and was given up');
    });
  }

  /** The upload's file is there: what it was given is now its own length. May be repeated. */
  async arrived(org: string, id: string, bytes: number): Promise<void> {
    await this.#change(org, (usage) =>
      Object.hasOwn(usage.arriving, id)
        ? { ...usage, bytes: usage.bytes + bytes, arriving: without(usage.arriving, id) }
        : null,
    );
  }

  /** The upload came to nothing: what was set apart is free again. May be repeated. */
  async release(org: string, id: string): Promise<void> {
    await this.#change(org, (usage) =>
      Object.hasOwn(usage.arriving, id) ? { ...usage, arriving: without(usage.arriving, id) } : null,
    );
  }

  /** A deletion begins; its bytes count on, also where its arrival was not counted yet. */
  async leaving(org: string, id: string, bytes: number): Promise<void> {
    const at = new Date(this.#clock.now()).toISOString();
    await this.#change(org, (usage) => ({
      bytes: Object.hasOwn(usage.arriving, id) ? usage.bytes + bytes : usage.bytes,
      arriving: without(usage.arriving, id),
      leaving: { ...usage.leaving, [id]: { bytes, at } },
    }));
  }

  /** The content of what was leaving is gone. May be repeated. */
  async gone(org: string, id: string): Promise<void> {
    await this.#change(org, (usage) => {
      const left = usage.leaving[id];
      if (!left) return null;
      return { ...usage, bytes: Math.max(0, usage.bytes - left.bytes), leaving: without(usage.leaving, id) };
    });
  }

  async #setApart(
    org: string,
    id: string,
    bytes: number,
    check: (usage: FileUsage) => void,
  ): Promise<boolean> {
    const at = new Date(this.#clock.now()).toISOString();
    let fits = false;
    await this.#change(org, (usage) => {
      check(usage);
      const others = Object.values(without(usage.arriving, id)).reduce((sum, one) => sum + one.bytes, 0);
      fits = usage.bytes + others + bytes <= this.bytesMax;
      return fits ? { ...usage, arriving: { ...usage.arriving, [id]: { bytes, at } } } : null;
    });
    return fits;
  }

  /** Applies `decide` to what is there; it may run several times, and answers null for "leave it". */
  #change(org: string, decide: (usage: FileUsage) => FileUsage | null): Promise<void> {
    return this.#lockOf(org).run(async () => {
      for (let attempt = 0; attempt < CONFLICTS_MAX; attempt++) {
        const entry = await this.#usage.get(org);
        const wanted = decide(entry?.value ?? NOTHING);
        if (wanted === null) return;
        try {
          if (entry) await this.#usage.update(org, wanted, entry.revision);
          else await this.#usage.create(org, wanted);
          return;
        } catch (error) {
          if (!(error instanceof RevisionConflict)) throw error;
        }
      }
      throw new ServiceError('service_unavailable', 'too many changes to the org’s files at once');
    });
  }

  #lockOf(org: string): Lock {
    for (const [other, lock] of this.#locks) if (lock.free) this.#locks.delete(other);
    const lock = this.#locks.get(org) ?? new Lock();
    this.#locks.set(org, lock);
    return lock;
  }
}

function without<V>(entries: Record<string, V>, id: string): Record<string, V> {
  const { [id]: _gone, ...left } = entries;
  return left;
}
