// The object stores of an installation: what each holds, who writes it, and its bounds. Streams of their own, made with
// their bounds when an installation is new; an operator may set them otherwise later (`nats stream edit OBJ_files`).
const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;

export const OBJECT_STORES = {
  /** Stored file's id -> its content. Written by control. */
  files: { maxBytes: 64 * GIB, ttlMs: 0 },
  /** What a video is made from: its first frame. Written by the edge or the video-worker. */
  'video-inputs': { maxBytes: 8 * GIB, ttlMs: 24 * HOUR_MS },
  /** Video job's id -> the video. Written by the video-worker. */
  'video-results': { maxBytes: 32 * GIB, ttlMs: 24 * HOUR_MS },
  /** Answers too large for their record, to be given again under the same `Idempotency-Key`. Written by the edge. */
  idempotency: { maxBytes: 8 * GIB, ttlMs: 24 * HOUR_MS },
} as const;

export type ObjectStoreName = keyof typeof OBJECT_STORES;
