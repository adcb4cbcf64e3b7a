// The bytes of an upload on their way into the store: counted against the org's quota before they are stored, and the
// quota's entry kept young while they come.
import { FILE_BYTES_MAX, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Quota } from './quota.ts';

/** Where it is not known how long the content is, so much more than has come is set apart at once. */
const STEP_BYTES = 16 * 1024 * 1024;
/** An upload says this often that it is still on. */
const TOUCH_MS = 60_000;

export interface MeteredUploadOptions {
  readonly quota: Quota;
  readonly org: string;
  readonly id: string;
  /** The content has at least so many bytes. */
  readonly bytesMin: number;
  readonly clock: Clock;
}

export class MeteredUpload {
  readonly #on: MeteredUploadOptions;
  #setApart = 0;
  #touchedAt = 0;
  #bytes = 0;

  constructor(options: MeteredUploadOptions) {
    this.#on = options;
  }

  /** @throws ServiceError `storage_quota_exceeded`, `body_too_large`. */
  async begin(): Promise<void> {
    const { quota, org, id, bytesMin } = this.#on;
    if (bytesMin > FILE_BYTES_MAX) throw tooLarge();
    if (!(await quota.begin(org, id, bytesMin))) throw this.#overQuota();
    this.#wasSetApart(bytesMin);
  }

  /** The content as it comes. Throws as `begin` does. */
  async *take(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of content) {
      this.#bytes += piece.length;
      if (this.#bytes > FILE_BYTES_MAX) throw tooLarge();
      const old = this.#on.clock.monotonic() - this.#touchedAt > TOUCH_MS;
      if (this.#bytes > this.#setApart || old) await this.#extend();
      yield piece;
    }
  }

  /** All of it is stored: sets apart exactly that, and holds it for another while. */
  async whole(): Promise<void> {
    const { quota, org, id } = this.#on;
    if (!(await quota.change(org, id, this.#bytes))) throw this.#overQuota();
  }

  /** With room for what comes next, or, where there is no more, for exactly what has come. */
  async #extend(): Promise<void> {
    const { quota, org, id } = this.#on;
    const ahead = Math.min(Math.max(this.#setApart, this.#bytes + STEP_BYTES), FILE_BYTES_MAX);
    const needed = Math.max(this.#setApart, this.#bytes);
    if (await quota.change(org, id, ahead)) return this.#wasSetApart(ahead);
    if (await quota.change(org, id, needed)) return this.#wasSetApart(needed);
    throw this.#overQuota();
  }

  #wasSetApart(bytes: number): void {
    this.#setApart = bytes;
    this.#touchedAt = this.#on.clock.monotonic();
  }

  #overQuota(): ServiceError {
    const message = `the org’s files would be over its quota of ${this.#on.quota.bytesMax} bytes; delete some first`;
    return new ServiceError('storage_quota_exceeded', message);
  }
}

const tooLarge = () =>
  new ServiceError('body_too_large', `file: at most ${FILE_BYTES_MAX} bytes (512 MB)`, { param: 'file' });
