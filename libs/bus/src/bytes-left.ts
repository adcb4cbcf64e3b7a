// How much a bucket or an object store can still take.
import type { BucketName } from './buckets.ts';
import type { Bus } from './bus.ts';
import { toStoreError } from './object-errors.ts';
import type { ObjectStoreName } from './objects.ts';

/** @throws ServiceError `service_unavailable` */
export async function bytesLeft(
  { jsm }: Bus,
  stream: `KV_${BucketName}` | `OBJ_${ObjectStoreName}`,
): Promise<number> {
  const { config, state } = await jsm.streams.info(stream).catch((error: unknown) => {
    throw toStoreError(stream, error);
  });
  return config.max_bytes <= 0 ? Number.POSITIVE_INFINITY : config.max_bytes - state.bytes;
}
