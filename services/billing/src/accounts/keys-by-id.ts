// The keys of the bucket `keys` by their ids; there they are under the SHA-256 of their secrets, of which a key that was
// rotated has two for a while.
import type { Mirror } from '@switchyard/bus';
import type { KeyRecord } from '@switchyard/contracts';

export class KeysById {
  readonly #byId = new Map<string, { hash: string; record: KeyRecord }>();

  constructor(keys: Pick<Mirror<KeyRecord>, 'entries' | 'onChange'>) {
    for (const [hash, record] of keys.entries()) this.#put(hash, record);
    keys.onChange((hash, record, previous) => {
      if (previous && this.#byId.get(previous.id)?.hash === hash) this.#byId.delete(previous.id);
      if (record) this.#put(hash, record);
    });
  }

  /** Null for a key that is gone, or is another org's. */
  get(org: string, id: string): KeyRecord | null {
    const record = this.#byId.get(id)?.record;
    return record?.org === org ? record : null;
  }

  /** The secret in use: neither one that has a successor, nor the former one while a rotation is under way. */
  #put(hash: string, record: KeyRecord): void {
    if (record.successor) return;
    const known = this.#byId.get(record.id)?.record;
    if (known && (known.rotation ?? 0) > (record.rotation ?? 0)) return;
    this.#byId.set(record.id, { hash, record });
  }
}
