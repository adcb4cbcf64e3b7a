// Looks up the keys of the bucket `keys` by id. The bucket is indexed by the SHA-256 of the secret, and a rotated key
// has two secrets for a while, a key under two rotations at once has three.
import type { KeyRecord } from '@switchyard/contracts';
import type { Mirror } from './mirror.ts';

export class KeysById {
  /** Id -> hash -> record, of every secret that has no successor. */
  readonly #byId = new Map<string, Map<string, KeyRecord>>();

  constructor(keys: Pick<Mirror<KeyRecord>, 'entries' | 'onChange'>) {
    for (const [hash, record] of keys.entries()) this.#put(hash, record);
    keys.onChange((hash, record, previous) => {
      if (previous) this.#remove(hash, previous);
      if (record) this.#put(hash, record);
    });
  }

  /** The record of the secret in use. Null for a key that was deleted or belongs to another org. */
  get(org: string, id: string): KeyRecord | null {
    const records = [...(this.#byId.get(id)?.values() ?? [])];
    const [latest] = records.toSorted((a, b) => (b.rotation ?? 0) - (a.rotation ?? 0));
    return latest?.org === org ? latest : null;
  }

  #put(hash: string, record: KeyRecord): void {
    if (record.successor) return;
    const secrets = this.#byId.get(record.id) ?? new Map<string, KeyRecord>();
    this.#byId.set(record.id, secrets.set(hash, record));
  }

  #remove(hash: string, { id }: KeyRecord): void {
    const secrets = this.#byId.get(id);
    secrets?.delete(hash);
    if (secrets?.size === 0) this.#byId.delete(id);
  }
}
