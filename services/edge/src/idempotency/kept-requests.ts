// First requests under a key, and their answers, as all edges see them: the record in KV, an answer too large for it in the
// object store.
import { hash } from 'node:crypto';
import { type Bucket, type ObjectStore, RevisionConflict } from '@switchyard/bus';
import { type IdempotencyRecord, ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { sealingKey, unsealed } from './answer-seal.ts';
import { BodyKeeper } from './body-keeper.ts';
import type { CapturedHead } from './captured-answer.ts';

/** How often a record is tried to be removed whose making may or may not have happened. */
const RELEASE_TRIES_MAX = 5;

export interface KeptRequestsOptions {
  bucket: Bucket<IdempotencyRecord>;
  objects: ObjectStore;
  logger: Logger;
}

type Running = Extract<IdempotencyRecord, { state: 'running' }>;
export type Answered = Extract<IdempotencyRecord, { state: 'answered' }>;

/** A key that is this request's now. */
export interface Reservation {
  readonly key: string;
  readonly revision: number;
  readonly record: Running;
  readonly sealingKey: Buffer;
}

export class KeptRequests {
  readonly #bucket: Bucket<IdempotencyRecord>;
  readonly #objects: ObjectStore;
  readonly #logger: Logger;

  constructor({ bucket, objects, logger }: KeptRequestsOptions) {
    this.#bucket = bucket;
    this.#objects = objects;
    this.#logger = logger;
  }

  /**
   * Takes the key for this request: of all that ask, over all edges, one is first.
   * @returns the reservation, or the record of the request that has the key.
   * @throws ServiceError `service_unavailable`: the request must not run.
   */
  async reserve(idempotencyKey: string, record: Running): Promise<Reservation | IdempotencyRecord> {
    const key = `${record.org}.${hash('sha256', idempotencyKey)}`;
    try {
      const revision = await this.#bucket.create(key, record);
      return { key, revision, record, sealingKey: sealingKey(record.org, idempotencyKey) };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) {
        void this.#releaseIfOurs(key, record);
        throw error;
      }
      const found = await this.#bucket.get(key);
      if (found) return found.value;
      // Given back, or expired, in between.
      throw new ServiceError('idempotency_in_use', 'the first request under this key has just ended', {
        retryAfterS: 1,
        cause: error,
      });
    }
  }

  /** Where the answer's body goes while it is given. */
  bodyKeeper({ key, record, sealingKey }: Reservation, onRoom: () => void): BodyKeeper {
    return new BodyKeeper({ objects: this.#objects, id: `${key}.${record.request_id}`, sealingKey, onRoom });
  }

  /** The answer is there for everybody who asks again. Failing, it leaves the request's end unknown. */
  async keep(
    { key, revision, record }: Reservation,
    digest: string,
    { status, headers }: CapturedHead,
    body: BodyKeeper,
  ): Promise<void> {
    try {
      const answer = { status, headers, body: await body.end() };
      await this.#bucket.update(key, { ...record, state: 'answered', digest, answer }, revision);
    } catch (error) {
      this.#logger.error({ err: error, request: record.request_id }, 'an answer could not be kept');
    }
  }

  /** The key is free again: nothing was done under it. */
  async release({ key, revision, record }: Reservation): Promise<void> {
    try {
      await this.#bucket.delete(key, revision);
    } catch (error) {
      this.#logger.warn({ err: error, request: record.request_id }, 'a key is tried to be given back again');
      await this.#releaseIfOurs(key, record);
    }
  }

  /** The bytes of a kept answer; null where they are gone. Their iteration throws where they are not what was kept. */
  async bodyOf(
    { org, answer: { body } }: Answered,
    idempotencyKey: string,
  ): Promise<AsyncIterable<Buffer> | null> {
    const sealed =
      body.kind === 'inline'
        ? one(Buffer.from(body.base64, 'base64'))
        : (await this.#objects.get(body.id))?.body;
    return sealed ? unsealed(sealingKey(org, idempotencyKey), body.seal, sealed) : null;
  }

  /** Where the store was away: the record may have been written all the same, and would block its key for a day. */
  async #releaseIfOurs(key: string, { request_id }: Running): Promise<void> {
    for (let tries = 0; tries < RELEASE_TRIES_MAX; tries += 1)
      try {
        const found = await this.#bucket.get(key);
        if (found?.value.state === 'running' && found.value.request_id === request_id)
          await this.#bucket.delete(key, found.revision);
        return;
      } catch (error) {
        this.#logger.debug({ err: error, request: request_id }, 'a key could not be given back yet');
      }
  }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
