// Finds keys by the SHA-256 of a secret, in the mirror of the bucket `keys`. A stale mirror accepts nothing by itself.
import { setTimeout } from 'node:timers/promises';
import type { Mirror } from '@switchyard/bus';
import { type KeyRecord, keyRecordKey } from '@switchyard/contracts';

/** Requests with unknown keys in this time ask the bucket together, so that guessed keys cause little load. */
const SHARED_MS = 5;

export class KeysByHash {
  readonly #keys: Mirror<KeyRecord>;
  /** Each key under each of its secrets, with this secret only. */
  readonly #byHash = new Map<string, KeyRecord>();
  /** The wait that requests within `SHARED_MS` share; null: the next request starts one. */
  #arrived: Promise<void> | null = null;

  constructor(keys: Mirror<KeyRecord>) {
    this.#keys = keys;
    for (const { value } of keys.entries()) this.#put(value);
    keys.onChange((_key, record, previous) => {
      for (const { hash } of previous?.secrets ?? []) this.#byHash.delete(hash);
      if (record) this.#put(record);
    });
  }

  /**
   * The key with this secret only. Waits for a key that is not in memory, and when the mirror is stale.
   * @throws ServiceError `service_unavailable` when the bucket does not answer, or its latest changes do not arrive
   */
  lookup(hash: string): KeyRecord | null | Promise<KeyRecord | null> {
    const known = this.#byHash.get(hash);
    return known && this.#keys.fresh ? known : this.#read(hash);
  }

  async #read(hash: string): Promise<KeyRecord | null> {
    if (!this.#byHash.has(hash)) await this.#haveArrived();
    const known = this.#byHash.get(hash);
    const record = known && (await this.#keys.lookup(keyRecordKey(known.org, known.id)));
    return record ? underSecret(record, hash) : null;
  }

  /** Resolves when memory has every key that existed at the time of the call. */
  #haveArrived(): Promise<void> {
    this.#arrived ??= setTimeout(SHARED_MS).then(() => {
      this.#arrived = null;
      return this.#keys.caughtUp();
    });
    return this.#arrived;
  }

  #put(record: KeyRecord): void {
    for (const { hash } of record.secrets) {
      const key = underSecret(record, hash);
      if (key) this.#byHash.set(hash, key);
    }
  }
}

function underSecret(record: KeyRecord, hash: string): KeyRecord | null {
  const secret = record.secrets.find((one) => one.hash === hash);
  return secret ? { ...record, secrets: [secret] } : null;
}
