// First requests under a key and their answers, shared by all edges: records in KV, and answers that are too large for
// a record in the object store.
import { hash } from 'node:crypto';
import { type Bucket, type ObjectStore, RevisionConflict } from '@switchyard/bus';
import { type IdempotencyRecord, ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { sealingKey, unsealed } from './answer-seal.ts';
import { BodyKeeper } from './body-keeper.ts';
import type { CapturedHead } from './captured-answer.ts';
import { type OrgQuota, quotaExceeded, type Share } from './org-quota.ts';

/** Attempts to remove a record whose creation may or may not have succeeded. */
const RELEASE_TRIES_MAX = 5;

interface KeptRequestsOptions {
  bucket: Bucket<IdempotencyRecord>;
  objects: ObjectStore;
  quota: OrgQuota;
  logger: Logger;
}

type Running = Extract<IdempotencyRecord, { state: 'running' }>;
export type Answered = Extract<IdempotencyRecord, { state: 'answered' }>;

/** A key that this request has reserved. */
export interface Reservation {
  readonly key: string;
  /** Revision of the record after its last write. */
  revision: number;
  readonly record: Running;
  readonly sealingKey: Buffer;
  /** Share of the org's quota. */
  readonly share: Share;
}

export class KeptRequests {
  readonly #bucket: Bucket<IdempotencyRecord>;
  readonly #objects: ObjectStore;
  readonly #quota: OrgQuota;
  readonly #logger: Logger;

  constructor({ bucket, objects, quota, logger }: KeptRequestsOptions) {
    this.#bucket = bucket;
    this.#objects = objects;
    this.#quota = quota;
    this.#logger = logger;
  }

  /**
   * Reserves the key for this request; one request over all edges wins.
   * @returns the reservation, or the record of the request that has the key.
   * @throws ServiceError `service_unavailable`, `idempotency_quota_exceeded`: the request must not run.
   */
  async reserve(idempotencyKey: string, record: Running): Promise<Reservation | IdempotencyRecord> {
    const key = `${record.org}.${hash('sha256', idempotencyKey)}`;
    if (!(await this.#quota.hasRoom(record.org))) {
      const found = await this.#bucket.get(key);
      if (found) return found.value;
      throw quotaExceeded();
    }
    const share = this.#quota.take(record.org);
    try {
      const revision = await this.#bucket.create(key, record);
      return { key, revision, record, sealingKey: sealingKey(record.org, idempotencyKey), share };
    } catch (error) {
      share.release();
      if (!(error instanceof RevisionConflict)) {
        void this.#releaseIfOurs(key, record);
        throw error;
      }
      const found = await this.#bucket.get(key);
      if (found) return found.value;
      // The key was released, or expired, in between.
      throw new ServiceError(
        'idempotency_in_use',
        'The first request with this key has just ended. Retry now.',
        {
          retryAfterS: 1,
          cause: error,
        },
      );
    }
  }

  /** Marks the request as a stream, whose answer is not kept. */
  async markStreaming(reservation: Reservation): Promise<void> {
    const { key, record, revision } = reservation;
    reservation.revision = await this.#bucket.update(key, { ...record, state: 'streaming' }, revision);
  }

  /** Creates the keeper that stores the answer's body while it is sent. */
  bodyKeeper({ key, record, sealingKey, share }: Reservation, onRoom: () => void): BodyKeeper {
    const id = `${key}.${record.request_id}`;
    return new BodyKeeper({ objects: this.#objects, id, sealingKey, share, onRoom });
  }

  /**
   * Stores the answer for repeats. A failure leaves the outcome of the request unknown.
   * @returns whether the answer was stored
   */
  async keep(
    { key, revision, record, share }: Reservation,
    { digest, models }: Pick<Answered, 'digest' | 'models'>,
    { status, headers }: CapturedHead,
    body: BodyKeeper,
  ): Promise<boolean> {
    try {
      const answer = { status, headers, body: await body.end() };
      const objectBytes = answer.body.kind === 'object' ? answer.body.bytes : 0;
      if (!share.hold(Buffer.byteLength(JSON.stringify({ models, answer })) + objectBytes))
        throw new Error('the answer does not fit in the quota of its org');
      await this.#bucket.update(key, { ...record, state: 'answered', digest, models, answer }, revision);
      return true;
    } catch (error) {
      this.#logger.error({ err: error, request: record.request_id }, 'an answer could not be kept');
      return false;
    }
  }

  /** Frees the key: nothing was done under it. */
  async release({ key, revision, record, share }: Reservation): Promise<void> {
    share.release();
    try {
      await this.#bucket.delete(key, revision);
    } catch (error) {
      this.#logger.warn(
        { err: error, request: record.request_id },
        'an idempotency key was not released; trying again',
      );
      await this.#releaseIfOurs(key, record);
    }
  }

  /** Returns the bytes of a kept answer; null when they are gone. Iterating throws when they were altered. */
  async bodyOf(
    { org, answer: { body } }: Answered,
    idempotencyKey: string,
  ): Promise<AsyncIterable<Buffer> | null> {
    const sealed =
      body.kind === 'inline' ? one(Buffer.from(body.base64, 'base64')) : await this.#objects.get(body.id);
    return sealed ? unsealed(sealingKey(org, idempotencyKey), body.seal, sealed) : null;
  }

  /** Resolves when everything kept has been counted. */
  idle(): Promise<void> {
    return this.#quota.idle();
  }

  /** When the store was unavailable, the record may exist nevertheless, and would block its key for a day. */
  async #releaseIfOurs(key: string, { request_id }: Running): Promise<void> {
    for (let tries = 0; tries < RELEASE_TRIES_MAX; tries += 1)
      try {
        const found = await this.#bucket.get(key);
        if (found && found.value.state !== 'answered' && found.value.request_id === request_id)
          await this.#bucket.delete(key, found.revision);
        return;
      } catch (error) {
        this.#logger.debug(
          { err: error, request: request_id },
          'an idempotency key could not be released yet',
        );
      }
  }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
