// Tracks the bytes and the number of files that an org stores, exactly. Bytes are reserved by compare-and-set before
// they are stored, and count until they are removed. An upload is in `arriving` until its record exists, a deletion in
// `leaving` until the content is removed. A crash in between leaves such an entry, and the sweep (sweeper.ts) completes
// it.
import type { Bucket } from '@switchyard/bus';
import { FILES_PER_ORG_MAX, type FileStorage, type FileUsage, ServiceError } from '@switchyard/contracts';
import { type Clock, Locks } from '@switchyard/service';

const NOTHING: FileUsage = { bytes: 0, files: 0, arriving: {}, leaving: {} };

interface QuotaOptions {
  readonly usage: Bucket<FileUsage>;
  /** Bytes that an org may store. */
  readonly bytesMax: number;
  /** Files that an org may store. Default `FILES_PER_ORG_MAX`. */
  readonly filesMax?: number;
  readonly clock: Pick<Clock, 'now'>;
}

export class Quota {
  readonly bytesMax: number;
  readonly filesMax: number;
  readonly #usage: Bucket<FileUsage>;
  readonly #clock: Pick<Clock, 'now'>;
  /** Serializes the changes of this instance, so that they do not conflict with each other. */
  readonly #locks = new Locks();

  constructor({ usage, bytesMax, filesMax = FILES_PER_ORG_MAX, clock }: QuotaOptions) {
    this.#usage = usage;
    this.bytesMax = bytesMax;
    this.filesMax = filesMax;
    this.#clock = clock;
  }

  async usage(org: string): Promise<FileUsage> {
    return (await this.#usage.get(org))?.value ?? NOTHING;
  }

  /** The use of an org's quota, and the quota. */
  async storage(org: string): Promise<FileStorage> {
    return { ...taken(await this.usage(org)), bytes_max: this.bytesMax, files_max: this.filesMax };
  }

  async orgs(): Promise<string[]> {
    return this.#usage.keys();
  }

  /** Starts an upload: reserves bytes for it. Returns false, and changes nothing, when it does not fit. */
  begin(org: string, id: string, bytes: number): Promise<boolean> {
    return this.#reserve(org, id, bytes, () => {});
  }

  /**
   * Changes the reserved bytes of a running upload, and refreshes its entry.
   * @throws ServiceError `service_unavailable` when the upload was given up in the meantime.
   */
  change(org: string, id: string, bytes: number): Promise<boolean> {
    return this.#reserve(org, id, bytes, ({ arriving }) => {
      if (!Object.hasOwn(arriving, id))
        throw new ServiceError('service_unavailable', 'The upload took too long. Send it again.');
    });
  }

  /** The upload's file exists: replaces the reservation by the file's length. Idempotent. */
  async arrived(org: string, id: string, bytes: number): Promise<void> {
    await this.#change(org, (usage) =>
      Object.hasOwn(usage.arriving, id) ? counted(usage, id, bytes) : null,
    );
  }

  /** The upload failed: releases its reservation. Idempotent. */
  async release(org: string, id: string): Promise<void> {
    await this.#change(org, (usage) =>
      Object.hasOwn(usage.arriving, id) ? { ...usage, arriving: without(usage.arriving, id) } : null,
    );
  }

  /** Starts a deletion. Its bytes keep counting, also when the upload's arrival was not counted yet. */
  async leaving(org: string, id: string, bytes: number): Promise<void> {
    const at = new Date(this.#clock.now()).toISOString();
    await this.#change(org, (usage) => ({
      ...(Object.hasOwn(usage.arriving, id) ? counted(usage, id, bytes) : usage),
      leaving: { ...usage.leaving, [id]: { bytes, at } },
    }));
  }

  /** The content of a deleted file is removed. Idempotent. */
  async gone(org: string, id: string): Promise<void> {
    await this.#change(org, (usage) => {
      const left = usage.leaving[id];
      if (!left) return null;
      const bytes = Math.max(0, usage.bytes - left.bytes);
      const files = Math.max(0, usage.files - 1);
      return { ...usage, bytes, files, leaving: without(usage.leaving, id) };
    });
  }

  async #reserve(
    org: string,
    id: string,
    bytes: number,
    check: (usage: FileUsage) => void,
  ): Promise<boolean> {
    const at = new Date(this.#clock.now()).toISOString();
    let fits = false;
    await this.#change(org, (usage) => {
      check(usage);
      const others = taken({ ...usage, arriving: without(usage.arriving, id) });
      fits = others.bytes + bytes <= this.bytesMax && others.files < this.filesMax;
      return fits ? { ...usage, arriving: { ...usage.arriving, [id]: { bytes, at } } } : null;
    });
    return fits;
  }

  /** Applies `decide` to the current usage. `decide` may run several times; null means "no change". */
  #change(org: string, decide: (usage: FileUsage) => FileUsage | null): Promise<void> {
    return this.#locks.run(org, async () => {
      await this.#usage.change(org, (entry) => decide(entry?.value ?? NOTHING));
    });
  }
}

/** Files and uploads together. */
function taken({ bytes, files, arriving }: FileUsage): Pick<FileUsage, 'bytes' | 'files'> {
  const uploads = Object.values(arriving);
  return {
    bytes: uploads.reduce((sum, upload) => sum + upload.bytes, bytes),
    files: files + uploads.length,
  };
}

/** An upload's file exists. */
function counted(usage: FileUsage, id: string, bytes: number): FileUsage {
  const arriving = without(usage.arriving, id);
  return { ...usage, bytes: usage.bytes + bytes, files: usage.files + 1, arriving };
}

function without<V>(entries: Record<string, V>, id: string): Record<string, V> {
  const { [id]: _gone, ...left } = entries;
  return left;
}
