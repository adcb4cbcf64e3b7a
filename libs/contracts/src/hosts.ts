// Hosts of computers: their heartbeats, and the orders of the operator.
import { z } from 'zod';
import { idOf } from './ids.ts';

/** A host silent for this long counts as lost: its computers are `unreachable` and not billed from then on. */
export const HOST_SILENT_MS_MAX = 60_000;

/** KV bucket `hosts`, key = host id: an agent's heartbeat, each second; it disappears when the agent is silent. */
export const hostHeartbeat = z.object({
  id: idOf('host'),
  at: z.iso.datetime(),
  /** Cores and MiB that computers on this host may reserve in all, and have reserved. */
  cpu_total: z.number(),
  cpu_used: z.number(),
  memory_mb_total: z.number(),
  memory_mb_used: z.number(),
  computers: z.int(),
  /** MiB free on the fullest disk of computers, and the minimum for new computers. */
  disk_mb_free: z.int().nullable(),
  disk_mb_free_min: z.int().nullable(),
  /** The standard image is there; otherwise `image_progress` says how far its building is. */
  image_ready: z.boolean(),
  image_progress: z.string().nullable(),
  /** Why this host takes no computers, in words for a caller; null: it takes them. */
  refuses: z.string().nullable(),
  cordoned: z.boolean(),
});
export type HostHeartbeat = z.infer<typeof hostHeartbeat>;

/**
 * KV bucket `host-orders`, key = host id: what an operator orders a host to do; no entry: nothing. `cordon`: no new
 * computers, existing ones continue and may restart. `drain`: its computers stop as well, files kept, and none starts.
 */
export const hostOrder = z.object({ order: z.enum(['cordon', 'drain']), at: z.iso.datetime() });
export type HostOrder = z.infer<typeof hostOrder>;
