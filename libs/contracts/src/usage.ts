// Usage and Logs: queries and answers of GET /v1/usage, /v1/logs and /v1/logs/{request_id}.
import { z } from 'zod';
import { dialect } from './dialects.ts';
import { dollars } from './dollars.ts';
import { listOf, listQuery } from './lists.ts';

export const USAGE_INTERVALS = ['minute', 'hour', 'day', 'month'] as const;
export const USAGE_GROUPS = ['key', 'type', 'model', 'maker', 'computer', 'status'] as const;
/** Rows of one export of Logs; a longer one goes on where it ended. */
export const LOG_EXPORT_ROWS_MAX = 1_000_000;
const FILTER_LENGTH_MAX = 300;
export const LOG_STATUSES = ['ok', 'refused', 'error', 'cancelled', 'voided'] as const;

export const usageInterval = z.enum(USAGE_INTERVALS);
export const usageGroup = z.enum(USAGE_GROUPS);
export const logStatus = z.enum(LOG_STATUSES);

export const quantities = z
  .record(z.string(), z.number())
  .describe('Counted things by name: input_tokens, output_tokens, minutes, images, seconds …');

/** How rows may be asked for, beside JSON: `format`, or `Accept` with their media types. */
export const ROW_FORMATS = ['json', 'csv', 'ndjson'] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];
export const rowFormat = z
  .enum(ROW_FORMATS)
  .optional()
  .describe('json, csv (RFC 4180) or ndjson (a JSON object a line); default: what `Accept` asks for');

const from = z.iso.datetime({ offset: true }).optional();
const to = z.iso.datetime({ offset: true }).optional().describe('Up to this moment, exclusive; default: now');
const filter = z.string().min(1).max(FILTER_LENGTH_MAX).optional();

const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'is no time zone of the IANA list, such as Asia/Kathmandu')
  .optional()
  .describe(
    'Time zone of the intervals, by its name (Asia/Kathmandu), daylight saving included; default: the offset of `from`',
  );

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Usage of one thing alone: of these at most one. */
const usageFilters = {
  key: filter.describe('Only of this key, by its id'),
  type: filter.describe('Only of this type'),
  model: filter.describe('Only of this model'),
  maker: filter.describe('Only of this maker'),
  computer: filter.describe('Only of this computer'),
  status: filter.describe('Only of calls that ended so'),
} satisfies Record<(typeof USAGE_GROUPS)[number], z.ZodType>;

export const usageQuery = z.strictObject({
  from: from.describe('From this moment on; default: 30 days before `to`, or less for short intervals'),
  to,
  interval: usageInterval.optional().describe('Rows by this interval; default: one row for the whole time'),
  group_by: usageGroup.optional().describe('Rows by this; default: all together'),
  tz: timeZone,
  ...usageFilters,
});
export type UsageQuery = z.infer<typeof usageQuery>;

/** What the endpoint takes: the form of the answer too. */
export const usageHttpQuery = usageQuery.extend({ format: rowFormat });

export const usageRow = z.object({
  from: z.iso.datetime().optional().describe('Start of the interval; absent when no interval was asked for'),
  group: z
    .string()
    .nullable()
    .optional()
    .describe('The value of `group_by`; null for what has none (a computer’s minutes have no model)'),
  calls: z.int().describe('Calls that reached a model'),
  cost: dollars,
  quantities,
});
export type UsageRow = z.infer<typeof usageRow>;

export const usageReport = z.object({
  object: z.literal('usage').describe('Always usage'),
  from: z.iso.datetime().describe('Start of the time reported'),
  to: z.iso.datetime().describe('Its end, exclusive'),
  interval: usageInterval.nullable().describe('The interval asked for'),
  group_by: usageGroup.nullable().describe('The grouping asked for'),
  tz: z.string().nullable().describe('The time zone asked for by its name'),
  as_of: z.iso.datetime().describe('Every event up to this moment is in the figures'),
  total: z
    .object({ calls: z.int().describe('Calls that reached a model'), cost: dollars, quantities })
    .describe('Everything together'),
  data: z.array(usageRow).describe('The rows'),
});
export type UsageReport = z.infer<typeof usageReport>;

export const logAttempt = z.object({
  model: z.string().describe('The model tried'),
  upstream: z.string().describe('Where it was tried'),
  status: z.int().nullable().describe('HTTP status of the upstream; null where it gave none'),
  error: z.string().nullable().describe('What went wrong; null for the attempt that served'),
  skipped: z
    .literal(true)
    .optional()
    .describe('Not asked: its circuit was open, or it had asked to be left alone until later'),
  latency_ms: z.number().describe('Milliseconds that it took'),
});
export type LogAttempt = z.infer<typeof logAttempt>;

export const logEntry = z.object({
  object: z.literal('log').describe('Always log'),
  id: z
    .string()
    .describe(
      'The request id of a call; `<computer>:<run>:<minute>` of a computer’s minute, `<charge>:refund:<number>` of a refund',
    ),
  at: z.iso.datetime().describe('When it ended'),
  kind: z.enum(['call', 'computer_minute', 'refund']).describe('What it is'),
  status: logStatus.describe('How it ended'),
  http_status: z.int().nullable().describe('The status answered'),
  error_code: z.string().nullable().describe('The code answered, of an error'),
  key_id: z.string().nullable().describe('The key that called, or made the computer'),
  method: z.string().nullable().describe('HTTP method of a refused call'),
  path: z.string().nullable().describe('Path of a refused call'),
  type: z.string().nullable().describe('Type of the model'),
  dialect: dialect.nullable().describe('Of a call of a language model: the shape in which it was called'),
  requested_model: z.string().nullable().describe('The model asked for'),
  model: z.string().nullable().describe('The model that served'),
  maker: z.string().nullable().describe('Its maker'),
  computer_id: z.string().nullable().describe('The computer, of its minutes and of calls to it'),
  stream: z.boolean().describe('Whether the answer was streamed'),
  cost: dollars,
  basis: z
    .enum(['upstream', 'estimated', 'metered'])
    .nullable()
    .describe('Who counted: the maker, we by estimate, or the clock'),
  quantities,
  latency_ms: z.number().nullable().describe('Milliseconds from the request to the end of the answer'),
  first_byte_ms: z.number().nullable().describe('Milliseconds to the first byte of the answer'),
  attempts: z.array(logAttempt).describe('Every attempt that was made, in order'),
  correction: z
    .object({
      of: z.string().describe('Id of the event whose charge is given back'),
      reason: z.string().describe('Why'),
      reference: z.string().nullable().describe('What it belongs to'),
    })
    .nullable()
    .describe('Of a refund that was asked for; null of everything else'),
});
export type LogEntry = z.infer<typeof logEntry>;
export const logList = listOf(logEntry);

const cost = z.coerce.number().min(-1_000_000).max(1_000_000).optional();

export const logsQuery = listQuery.extend({
  from: from.describe('From this moment on; default: the beginning'),
  to,
  key: filter.describe('Only of this key, by its id'),
  type: filter.describe('Only of this type of model'),
  model: filter.describe('Only of this model'),
  computer: filter.describe('Only of this computer'),
  status: logStatus.optional().describe('Only those that ended so'),
  cost_min: cost.describe('Only those that cost this much or more, in US dollars'),
  cost_max: cost.describe('Only those that cost this much or less, in US dollars'),
  request_id: filter.describe('Only the call of this X-Request-Id, and its refunds'),
});
export type LogsQuery = z.infer<typeof logsQuery>;

/** What the endpoint takes: the form of the answer too. */
export const logsHttpQuery = logsQuery.extend({ format: rowFormat });
