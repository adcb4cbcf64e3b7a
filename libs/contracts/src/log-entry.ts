// A line of Logs: what GET /v1/logs lists and /v1/logs/{request_id} shows.
import { z } from 'zod';
import { tags } from './caller-context.ts';
import { dialect } from './dialects.ts';
import { dollars } from './dollars.ts';
import { LOG_KINDS } from './ledger-kinds.ts';
import { listOf } from './lists.ts';

export const LOG_STATUSES = ['ok', 'refused', 'error', 'cancelled', 'voided'] as const;
export const logStatus = z.enum(LOG_STATUSES);

export const quantities = z
  .record(z.string(), z.number())
  .describe('Counted things by name: input_tokens, output_tokens, minutes, images, seconds …');

export const logAttempt = z.object({
  model: z.string().describe('The model tried'),
  upstream: z.string().describe('The upstream tried'),
  status: z.int().nullable().describe('HTTP status of the upstream; null without an answer'),
  error: z.string().nullable().describe('What went wrong; null for the attempt that served'),
  skipped: z
    .literal(true)
    .optional()
    .describe('Not called: its circuit was open, or it was still rate limited'),
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
  kind: z.enum(LOG_KINDS).describe('What it is'),
  status: logStatus.describe('How it ended'),
  http_status: z.int().nullable().describe('The status answered'),
  error_code: z.string().nullable().describe('The code of an error answer'),
  key_id: z.string().nullable().describe('The key that called, or made the computer'),
  method: z.string().nullable().describe('HTTP method of a refused call'),
  path: z.string().nullable().describe('Path of a refused call'),
  type: z.string().nullable().describe('Type of the model'),
  dialect: dialect.nullable().describe('Of a call of a language model: the dialect of the call'),
  requested_model: z.string().nullable().describe('The model asked for'),
  model: z.string().nullable().describe('The model that served'),
  maker: z.string().nullable().describe('Its maker'),
  computer_id: z.string().nullable().describe('The computer of a minute or of a call to it'),
  stream: z.boolean().describe('Whether the answer was streamed'),
  cost: dollars,
  basis: z
    .enum(['upstream', 'estimated', 'metered'])
    .nullable()
    .describe('Counted by the maker, by our estimate, or by the clock'),
  quantities,
  latency_ms: z.number().nullable().describe('Milliseconds from the request to the end of the answer'),
  first_byte_ms: z.number().nullable().describe('Milliseconds to the first byte of the answer'),
  attempts: z.array(logAttempt).describe('All attempts and skips, in order'),
  tags: tags.describe('Tags of the request, its key or computer'),
  client_request_id: z.string().nullable().describe('The X-Client-Request-Id of the call'),
  traceparent: z.string().nullable().describe('The trace and span of the call, as in W3C Trace Context'),
  correction: z
    .object({
      of: z.string().describe('Id of the event whose charge is refunded'),
      reason: z.string().describe('Why'),
      reference: z.string().nullable().describe('What it belongs to'),
    })
    .nullable()
    .describe('Of a refund by an operator; null for everything else'),
});
export type LogEntry = z.infer<typeof logEntry>;
export const logList = listOf(logEntry);
