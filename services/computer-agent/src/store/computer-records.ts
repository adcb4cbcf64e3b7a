// Records of this host's computers in the KV bucket `computers`. Only the agent writes them, except that control may
// mark one `deleting` (a creation taken back, a host given up). Every write is a compare-and-set.
import { type Bucket, type Entry, RevisionConflict } from '@switchyard/bus';
import { type ComputerRecord, recordKey } from '@switchyard/contracts';

export type RecordEntry = Entry<ComputerRecord>;

/** Control has removed the record, so the computer no longer exists. Contains the current record, if any. */
export class RecordTaken extends Error {
  readonly entry: RecordEntry | null;

  constructor(key: string, entry: RecordEntry | null) {
    super(`control took the record ${key}`);
    this.name = 'RecordTaken';
    this.entry = entry;
  }
}

/** A write whose answer was lost conflicts with itself; more attempts in a row indicate a fault. */
const WRITES_MAX = 4;

export class ComputerRecords {
  readonly #bucket: Bucket<ComputerRecord>;
  readonly #hostId: string;

  constructor(bucket: Bucket<ComputerRecord>, hostId: string) {
    this.#bucket = bucket;
    this.#hostId = hostId;
  }

  /** The record, if it is of this host. */
  get(org: string, id: string): Promise<RecordEntry | null> {
    return this.#bucket.get(recordKey({ host: this.#hostId, org, id }));
  }

  /** All records of this host. Null: the record is unreadable, as after a return to an older release. */
  all(): Promise<Map<string, RecordEntry | null>> {
    return this.#bucket.entriesByKey(`${this.#hostId}.>`);
  }

  /**
   * Writes the changed fields.
   * @throws RecordTaken; ServiceError `service_unavailable` when the store is down: the write may still have happened
   */
  async update(entry: RecordEntry, change: Partial<ComputerRecord>): Promise<RecordEntry> {
    let latest = entry;
    for (let write = 0; write < WRITES_MAX; write++) {
      const value = { ...latest.value, ...change };
      const revision = await this.#tryUpdate(latest, value);
      if (revision !== null) return { key: entry.key, value, revision };
      latest = await this.#readAgain(entry);
    }
    throw new Error(`the record ${entry.key} is being written by someone else`);
  }

  /** @throws RecordTaken, ServiceError as `update`. */
  async delete(entry: RecordEntry): Promise<void> {
    // Without a revision: a record that is `deleting` is deleted, regardless of later writes.
    await this.#bucket.delete(entry.key);
  }

  async #tryUpdate(entry: RecordEntry, value: ComputerRecord): Promise<number | null> {
    try {
      return await this.#bucket.update(entry.key, value, entry.revision);
    } catch (error) {
      if (error instanceof RevisionConflict) return null;
      throw error;
    }
  }

  /** Reads the conflicting record: our own earlier write whose answer was lost, or control's write. */
  async #readAgain(entry: RecordEntry): Promise<RecordEntry> {
    const latest = await this.#bucket.get(entry.key);
    const taken = latest?.value.state === 'deleting' && entry.value.state !== 'deleting';
    if (!latest || taken) throw new RecordTaken(entry.key, latest);
    return latest;
  }
}
