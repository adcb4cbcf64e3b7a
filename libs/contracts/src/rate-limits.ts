// Rate limits of keys and orgs, and what edges tell each other about their use.
import { z } from 'zod';

/** The largest limit; in effect none. */
export const RATE_LIMIT_MAX = 1_000_000_000;

const limit = z.int().positive().max(RATE_LIMIT_MAX).nullable();

/** Each of these is counted for the key, for the limited keys above it, and for the org. */
export const rateLimits = z.strictObject({
  requests_per_minute: limit.describe('Requests in any minute; null: no limit of its own'),
  tokens_per_minute: limit.describe(
    'Tokens of model calls, input and output, in any minute; null: no limit of its own',
  ),
  concurrent_calls: limit.describe('Model calls at the same time; null: no limit of its own'),
  concurrent_commands: limit.describe('Commands in computers at the same time; null: no limit of its own'),
});
export type RateLimits = z.infer<typeof rateLimits>;
export type RateLimitKind = keyof RateLimits;

export const RATE_LIMIT_KINDS = Object.keys(rateLimits.shape) as RateLimitKind[];
export const NO_RATE_LIMITS: RateLimits = {
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_calls: null,
  concurrent_commands: null,
};

export const rateLimitsChange = rateLimits
  .partial()
  .nullable()
  .describe('Rate limits; those left out stay as they are, null removes one or all');

/** Returns the limits after a change, null when none is left. */
export function changeRateLimits(
  before: RateLimits | null | undefined,
  change: z.infer<typeof rateLimitsChange> | undefined,
): RateLimits | null {
  if (change === null) return null;
  const limits = { ...NO_RATE_LIMITS, ...before };
  for (const kind of RATE_LIMIT_KINDS) {
    const to = change?.[kind];
    if (to !== undefined) limits[kind] = to;
  }
  return RATE_LIMIT_KINDS.some((kind) => limits[kind] !== null) ? limits : null;
}

/** Whether one of the limits is wider than another's. */
export function isWider(limits: RateLimits | null | undefined, than: RateLimits | null | undefined): boolean {
  return RATE_LIMIT_KINDS.some((kind) => {
    const most = than?.[kind] ?? Number.POSITIVE_INFINITY;
    return (limits?.[kind] ?? Number.POSITIVE_INFINITY) > most;
  });
}

/** Every edge tells all edges, itself included, what it takes: `rate-limits.v1.<edge>`, on core NATS. */
export const RATE_LIMITS_SUBJECTS = 'rate-limits.v1.*.*';
/** @param edge its instance: `<user>.<random>` */
export const rateLimitsSubject = (edge: string): string => `rate-limits.v1.${edge}`;

export const rateLimitUse = z.object({
  /** One life of an edge. */
  edge: z.string(),
  /** Counts that edge's messages, from 1. */
  number: z.int().positive(),
  /** By window: the amount taken, less than zero where it is given back, and how many milliseconds ago it was taken. */
  taken: z.record(
    z.string(),
    z.tuple([z.number().min(-RATE_LIMIT_MAX).max(RATE_LIMIT_MAX), z.number().nonnegative()]),
  ),
  /** By gauge: how many are open on this edge now. */
  open: z.record(z.string(), z.int().nonnegative().max(RATE_LIMIT_MAX)),
});
export type RateLimitUse = z.infer<typeof rateLimitUse>;
