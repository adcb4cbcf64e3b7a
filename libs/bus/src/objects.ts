// The object stores of an installation: content, writer and bounds of each. Each is its own stream, created with its
// bounds on a new installation; an operator may change them later (`nats stream edit OBJ_files`).
const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;

export const OBJECT_STORES = {
  /** Stored file's id -> its content. Written by control. */
  files: { maxBytes: 64 * GIB, ttlMs: 0 },
  /** Fields, first frame and callback URL of a video job. Written by the video-worker. */
  'video-inputs': { maxBytes: 8 * GIB, ttlMs: 24 * HOUR_MS },
  /** Video job's id -> the video. Written by the video-worker. */
  'video-results': { maxBytes: 32 * GIB, ttlMs: 24 * HOUR_MS },
  /** Answers too large for their idempotency record, replayed for the same `Idempotency-Key`. Written by the edge. */
  idempotency: { maxBytes: 8 * GIB, ttlMs: 24 * HOUR_MS },
} as const;

export type ObjectStoreName = keyof typeof OBJECT_STORES;
