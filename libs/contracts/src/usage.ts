// Usage and Logs: queries and answers of GET /v1/usage, /v1/logs and /v1/logs/{request_id}.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { listOf } from './lists.ts';

export const USAGE_INTERVALS = ['minute', 'hour', 'day', 'month'] as const;
export const USAGE_GROUPS = ['key', 'type', 'model', 'maker', 'computer'] as const;
export const LOG_STATUSES = ['ok', 'refused', 'error', 'cancelled', 'voided'] as const;

export const usageInterval = z.enum(USAGE_INTERVALS);
export const usageGroup = z.enum(USAGE_GROUPS);
export const logStatus = z.enum(LOG_STATUSES);
export type LogStatus = z.infer<typeof logStatus>;

/** Counted things by name: input_tokens, output_tokens, minutes, images, seconds … */
export const quantities = z.record(z.string(), z.number());

export const usageQuery = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  interval: usageInterval.optional(),
  group_by: usageGroup.optional(),
});
export type UsageQuery = z.infer<typeof usageQuery>;

export const usageRow = z.object({
  /** Start of the interval; absent when no interval was asked for. */
  from: z.iso.datetime().optional(),
  /** The value of `group_by`; null for what has none (a computer's minutes have no model). */
  group: z.string().nullable().optional(),
  calls: z.int(),
  cost: dollars,
  quantities,
});
export type UsageRow = z.infer<typeof usageRow>;

export const usageReport = z.object({
  object: z.literal('usage'),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  interval: usageInterval.nullable(),
  group_by: usageGroup.nullable(),
  /** Every event up to this moment is in the figures. */
  as_of: z.iso.datetime(),
  total: z.object({ calls: z.int(), cost: dollars, quantities }),
  data: z.array(usageRow),
});
export type UsageReport = z.infer<typeof usageReport>;

export const logAttempt = z.object({
  model: z.string(),
  upstream: z.string(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  latency_ms: z.number(),
});
export type LogAttempt = z.infer<typeof logAttempt>;

export const logEntry = z.object({
  object: z.literal('log'),
  /** The request id of a call; `<computer>:<run>:<minute>` of a computer's minute. */
  id: z.string(),
  at: z.iso.datetime(),
  kind: z.enum(['call', 'computer_minute']),
  status: logStatus,
  http_status: z.int().nullable(),
  error_code: z.string().nullable(),
  key_id: z.string().nullable(),
  method: z.string().nullable(),
  path: z.string().nullable(),
  type: z.string().nullable(),
  /** The model asked for, and the one that served. */
  requested_model: z.string().nullable(),
  model: z.string().nullable(),
  maker: z.string().nullable(),
  computer_id: z.string().nullable(),
  stream: z.boolean(),
  cost: dollars,
  basis: z.enum(['upstream', 'estimated', 'metered']).nullable(),
  quantities,
  latency_ms: z.number().nullable(),
  first_byte_ms: z.number().nullable(),
  attempts: z.array(logAttempt),
});
export type LogEntry = z.infer<typeof logEntry>;
export const logList = listOf(logEntry);

export const logsQuery = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  key: z.string().optional(),
  type: z.string().optional(),
  model: z.string().optional(),
  computer: z.string().optional(),
  status: logStatus.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  cursor: z.string().max(200).optional(),
});
export type LogsQuery = z.infer<typeof logsQuery>;
