// Usage, and the queries of Logs: GET /v1/usage and /v1/logs. A line of Logs is in log-entry.ts.
import { z } from 'zod';
import { CLIENT_REQUEST_ID_LENGTH_MAX, tagFilter, tagGroup } from './caller-context.ts';
import { dollars } from './dollars.ts';
import { listQuery } from './lists.ts';
import { logStatus, quantities } from './log-entry.ts';

export const USAGE_INTERVALS = ['minute', 'hour', 'day', 'month'] as const;
export const USAGE_GROUPS = ['key', 'type', 'model', 'maker', 'computer', 'status'] as const;
/** Rows of one export of Logs; the next export continues there. */
export const LOG_EXPORT_ROWS_MAX = 1_000_000;
const FILTER_LENGTH_MAX = 300;

export const usageInterval = z.enum(USAGE_INTERVALS);
export const usageGroup = z.union([
  z.enum(USAGE_GROUPS, { error: `must be one of ${USAGE_GROUPS.join(', ')}, or a tag, like tag:team` }),
  tagGroup,
]);

/** Formats of rows, selected by `format`, or by `Accept` with their media types. */
const ROW_FORMATS = ['json', 'csv', 'ndjson'] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];
export const rowFormat = z
  .enum(ROW_FORMATS)
  .optional()
  .describe('json, csv (RFC 4180) or ndjson (a JSON object a line); default: what `Accept` asks for');

const from = z.iso.datetime({ offset: true }).optional();
const to = z.iso
  .datetime({ offset: true })
  .optional()
  .describe('Up to this moment, exclusive; default: no end');
/** The time of a query. */
export const timeRange = { from, to };
const filter = z.string().min(1).max(FILTER_LENGTH_MAX).optional();

const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone, such as Asia/Kathmandu')
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

/** Filters of Usage: at most one of them. */
const usageFilters = {
  key: filter.describe('Only of this key, by its id'),
  type: filter.describe('Only of this type'),
  model: filter.describe('Only of this model'),
  maker: filter.describe('Only of this maker'),
  computer: filter.describe('Only of this computer'),
  status: filter.describe('Only calls with this status'),
} satisfies Record<(typeof USAGE_GROUPS)[number], z.ZodType>;

export const usageQuery = z.strictObject({
  from: from.describe('From this moment on; default: 30 days before `to`, or less for short intervals'),
  to: to.describe('Up to this moment, exclusive; default: the end of the current quarter hour'),
  interval: usageInterval.optional().describe('Rows by this interval; default: one row for the whole time'),
  group_by: usageGroup.optional().describe('Rows by this, or by a tag (`tag:team`); default: all together'),
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
  tz: z.string().nullable().describe('The time zone asked for by name'),
  as_of: z.iso.datetime().describe('Every event up to this moment is in the figures'),
  total: z
    .object({ calls: z.int().describe('Calls that reached a model'), cost: dollars, quantities })
    .describe('Everything together'),
  data: z.array(usageRow).describe('The rows'),
});
export type UsageReport = z.infer<typeof usageReport>;

const cost = z.coerce.number().min(-1_000_000).max(1_000_000).optional();

export const logsQuery = listQuery.extend({
  from: from.describe('From this moment on; default: the beginning'),
  to,
  key: filter.describe('Only of this key, by its id'),
  type: filter.describe('Only of this type of model'),
  model: filter.describe('Only of this model'),
  computer: filter.describe('Only of this computer'),
  status: logStatus.optional().describe('Only those with this status'),
  cost_min: cost.describe('Only those that cost this much or more, in US dollars'),
  cost_max: cost.describe('Only those that cost this much or less, in US dollars'),
  tag: tagFilter.optional(),
  request_id: filter.describe('Only the call of this X-Request-Id, and its refunds'),
  client_request_id: z
    .string()
    .min(1)
    .max(CLIENT_REQUEST_ID_LENGTH_MAX)
    .optional()
    .describe('Only calls with this X-Client-Request-Id'),
});
export type LogsQuery = z.infer<typeof logsQuery>;

/** What the endpoint takes: the form of the answer too. */
export const logsHttpQuery = logsQuery.extend({ format: rowFormat });
