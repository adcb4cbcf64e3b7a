// The bytes of an upload on their way into the store. They are counted against the org's quota before they are stored,
// and the quota's entry is refreshed while bytes arrive.
import { FILE_BYTES_MAX, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Quota } from './quota.ts';

/** Bytes reserved ahead of those received when the content length is unknown. */
const STEP_BYTES = 16 * 1024 * 1024;
/** Interval at which a running upload refreshes its quota entry. */
const TOUCH_MS = 60_000;

interface MeteredUploadOptions {
  readonly quota: Quota;
  readonly org: string;
  readonly id: string;
  /** Lower bound of the content length. */
  readonly bytesMin: number;
  readonly clock: Clock;
}

export class MeteredUpload {
  readonly #deps: MeteredUploadOptions;
  #reserved = 0;
  #touchedAt = 0;
  #bytes = 0;

  constructor(options: MeteredUploadOptions) {
    this.#deps = options;
  }

  /** @throws ServiceError `storage_quota_exceeded`, `body_too_large`. */
  async begin(): Promise<void> {
    const { quota, org, id, bytesMin } = this.#deps;
    if (bytesMin > FILE_BYTES_MAX) throw tooLarge();
    if (!(await quota.begin(org, id, bytesMin))) throw this.#overQuota();
    this.#onReserved(bytesMin);
  }

  /** Passes the content on as it arrives. Throws as `begin` does. */
  async *take(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of content) {
      this.#bytes += piece.length;
      if (this.#bytes > FILE_BYTES_MAX) throw tooLarge();
      const old = this.#deps.clock.monotonic() - this.#touchedAt > TOUCH_MS;
      if (this.#bytes > this.#reserved || old) await this.#extend();
      yield piece;
    }
  }

  /** All bytes are stored: reserves exactly their number, and refreshes the entry. */
  async whole(): Promise<void> {
    const { quota, org, id } = this.#deps;
    if (!(await quota.change(org, id, this.#bytes))) throw this.#overQuota();
  }

  /** Reserves room for the next bytes, or exactly the bytes received when the quota has no more. */
  async #extend(): Promise<void> {
    const { quota, org, id } = this.#deps;
    const ahead = Math.min(Math.max(this.#reserved, this.#bytes + STEP_BYTES), FILE_BYTES_MAX);
    const needed = Math.max(this.#reserved, this.#bytes);
    if (await quota.change(org, id, ahead)) return this.#onReserved(ahead);
    if (await quota.change(org, id, needed)) return this.#onReserved(needed);
    throw this.#overQuota();
  }

  #onReserved(bytes: number): void {
    this.#reserved = bytes;
    this.#touchedAt = this.#deps.clock.monotonic();
  }

  #overQuota(): ServiceError {
    const { bytesMax, filesMax } = this.#deps.quota;
    const message = `The org’s files would exceed its quota of ${bytesMax} bytes or ${filesMax} files. Delete some first.`;
    return new ServiceError('storage_quota_exceeded', message);
  }
}

const tooLarge = () =>
  new ServiceError('body_too_large', `file: exceeds ${FILE_BYTES_MAX} bytes (512 MB). Send a smaller file.`, {
    param: 'file',
  });
