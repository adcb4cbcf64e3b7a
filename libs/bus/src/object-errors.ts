// What the object store throws, and how JetStream's errors become our codes.
import { JetStreamApiError } from '@nats-io/jetstream';
import { ServiceError } from '@switchyard/contracts';

/** JetStream's codes for "cannot be stored" (stream limit, full disk) and for its own limits. */
const NO_ROOM_CODES: readonly number[] = [10_077, 10_023, 10_047];

/** The object was deleted or expired during the read. */
export class ObjectGone extends Error {
  constructor(store: string, id: string) {
    super(`${store}/${id} no longer exists`);
    this.name = 'ObjectGone';
  }
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'service_unavailable';
}

/** Maps JetStream errors to our codes. */
export function toStoreError(store: string, error: unknown): unknown {
  if (error instanceof ServiceError || error instanceof ObjectGone) return error;
  if (error instanceof JetStreamApiError && NO_ROOM_CODES.includes(error.code))
    return new ServiceError('storage_full', `Store ${store} is full. The operator must add storage.`, {
      cause: error,
    });
  return new ServiceError('service_unavailable', `Store ${store} is unavailable. Retry later.`, {
    cause: error,
  });
}
