// The KV buckets of an installation: what each holds, who writes it, and its bounds.
import {
  computerMinutes,
  computerPlacement,
  computerRecord,
  computerSlots,
  fileRecord,
  fileUsage,
  hostHeartbeat,
  hostOrder,
  IDEMPOTENCY_HOURS,
  idempotencyRecord,
  idempotencyUsage,
  keyRecord,
  orgRecord,
  providerKeyRecord,
  SESSION_HOURS,
  signingSecretRecord,
  spentToken,
  videoRecord,
  WEBHOOK_DELIVERIES_MAX,
  webhookDelivery,
  webhookRecord,
} from '@switchyard/contracts';
import { z } from 'zod';

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;
/** Longer than a watch is cut off, and than control takes to publish the events that the marker carries. */
const MARKER_TTL_MS = 7 * DAY_MS;

/** A lease's holder. */
const leaseRecord = z.object({ owner: z.string() });

/** What a bucket holds, and its bounds. */
export interface BucketBounds {
  readonly schema: z.ZodType;
  readonly maxBytes: number;
  /** Milliseconds; 0: values do not expire. */
  readonly ttlMs: number;
  /** Values kept for each key: 1 by default, 64 at most. */
  readonly history?: number;
  /** Milliseconds that the marker of a deleted key is kept; kept without limit by default. */
  readonly markerTtlMs?: number;
}

export const BUCKETS = {
  /** `<org>.<key id>` -> record, with the hashes of the key's secrets. Written by control by compare-and-set. */
  keys: { schema: keyRecord, maxBytes: 512 * MIB, ttlMs: 0, markerTtlMs: MARKER_TTL_MS },
  /** Org -> payment mode and spending limits; the keys of an org without a record are unknown. Written by control. */
  orgs: { schema: orgRecord, maxBytes: 64 * MIB, ttlMs: 0 },
  /** Variable of a maker's key -> the key, encrypted. Written by control. */
  'provider-keys': {
    schema: providerKeyRecord,
    maxBytes: 16 * MIB,
    ttlMs: 0,
    markerTtlMs: MARKER_TTL_MS,
  },
  /** The secret that signs URLs without a key. Written by edges. */
  system: { schema: z.unknown(), maxBytes: 16 * MIB, ttlMs: 0 },
  /** Host id -> heartbeat; expires when the agent is silent for a minute. Written by each agent. */
  hosts: { schema: hostHeartbeat, maxBytes: 16 * MIB, ttlMs: 60_000 },
  /** Host id -> the operator's order for the host. Written by `npm run hosts`. */
  'host-orders': { schema: hostOrder, maxBytes: 16 * MIB, ttlMs: 0 },
  /** Name -> holder; expires when it is not renewed in time. */
  leases: { schema: leaseRecord, maxBytes: 16 * MIB, ttlMs: 5_000 },
  /** `<org>.<computer id>` -> its host and prices, kept for an hour longer than the record. Written by control. */
  'computer-placements': {
    schema: computerPlacement,
    maxBytes: 256 * MIB,
    ttlMs: 0,
    markerTtlMs: 60_000,
  },
  /** `<host>.<org>.<computer id>` -> record. Created by control, then written by the agent of its host. */
  computers: { schema: computerRecord, maxBytes: 256 * MIB, ttlMs: 0, markerTtlMs: 60_000 },
  /** `<org>.<computer id>` -> its charged minutes, kept as long as its placement. Written by control by compare-and-set. */
  'computer-minutes': { schema: computerMinutes, maxBytes: 256 * MIB, ttlMs: 0, markerTtlMs: 60_000 },
  /** `<org>.<video id>` -> record, including hidden records of deleted videos. Kept longer than the stream keeps the
   * events that create them. Written by the video-workers by compare-and-set. */
  videos: { schema: videoRecord, maxBytes: 1024 * MIB, ttlMs: 30 * DAY_MS },
  /** Org -> the slots taken under its computer cap. Written by control by compare-and-set. */
  'computer-slots': { schema: computerSlots, maxBytes: 64 * MIB, ttlMs: 0 },
  /** `<org>.<file id>` -> record of a stored file. Written by control. */
  files: { schema: fileRecord, maxBytes: 512 * MIB, ttlMs: 0, markerTtlMs: MARKER_TTL_MS },
  /** Org -> its usage of the stored-files quota. Written by control by compare-and-set. */
  'file-usage': { schema: fileUsage, maxBytes: 64 * MIB, ttlMs: 0 },
  /** `<org>.<webhook id>` -> record. Written by control by compare-and-set. */
  webhooks: { schema: webhookRecord, maxBytes: 64 * MIB, ttlMs: 0, markerTtlMs: MARKER_TTL_MS },
  /** `<org>.<webhook id>` -> the last attempts to deliver to it, as the history of the key. Written by control. */
  'webhook-deliveries': {
    schema: webhookDelivery,
    maxBytes: 256 * MIB,
    ttlMs: 7 * DAY_MS,
    history: WEBHOOK_DELIVERIES_MAX,
  },
  /** Org -> the secrets that sign its `callback_url`s. Written by control. */
  'webhook-secrets': { schema: signingSecretRecord, maxBytes: 16 * MIB, ttlMs: 0 },
  /** `<org>.<sha-256 of an Idempotency-Key>` -> the first request with the key, and its answer. Written by edges. */
  idempotency: { schema: idempotencyRecord, maxBytes: 4096 * MIB, ttlMs: IDEMPOTENCY_HOURS * 3_600_000 },
  /** Org -> the space its kept answers take. Written by the edges by compare-and-set. */
  'idempotency-usage': {
    schema: idempotencyUsage,
    maxBytes: 64 * MIB,
    ttlMs: (IDEMPOTENCY_HOURS + 1) * 3_600_000,
  },
  /** Id of a session that was signed out, or of a sign-in link that was used. Written by edges. */
  'spent-tokens': { schema: spentToken, maxBytes: 64 * MIB, ttlMs: SESSION_HOURS * 3_600_000 },
} as const satisfies Record<string, BucketBounds>;

export type BucketName = keyof typeof BUCKETS;
export type BucketValue<N extends BucketName> = z.infer<(typeof BUCKETS)[N]['schema']>;
