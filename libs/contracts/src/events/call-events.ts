// Events of model calls.
import { z } from 'zod';
import { callerContext } from '../caller-context.ts';
import { dialect } from '../dialects.ts';
import { logAttempt, logStatus, quantities } from '../log-entry.ts';
import { chargeLine, defineBookedEvent, nanos } from './define-event.ts';

/** A call ended at the router, whatever the outcome: one event each, cost 0 without a usable answer. */
const callCompleted = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  type: z.string(),
  path: z.string(),
  /** The API shape in which a language model was called. */
  dialect: dialect.optional(),
  requested_model: z.string(),
  model: z.string().nullable(),
  maker: z.string().nullable(),
  status: logStatus,
  http_status: z.int(),
  error_code: z.string().nullable(),
  stream: z.boolean(),
  cost_nano: nanos,
  basis: z.enum(['upstream', 'estimated']).nullable(),
  lines: z.array(chargeLine),
  quantities,
  latency_ms: z.number(),
  first_byte_ms: z.number().nullable(),
  attempts: z.array(logAttempt),
  ...callerContext.shape,
});
export type CallCompleted = z.infer<typeof callCompleted>;

/** An authenticated call that the edge refused before any model was reached: a log row, cost 0. */
const callRefused = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  type: z.string().nullable(),
  method: z.string(),
  path: z.string(),
  dialect: dialect.optional(),
  requested_model: z.string().nullable(),
  computer_id: z.string().nullable(),
  http_status: z.int(),
  error_code: z.string(),
  latency_ms: z.number(),
  ...callerContext.shape,
});

/** The caller never got the answer of `request_id`: billing cancels its charge, in either order. */
const callVoided = z.object({
  request_id: z.string(),
  org: z.string(),
  reason: z.enum(['answer_lost', 'usage_not_stored', 'edge_lost']),
});

/** The same fact always has the same id. */
export const callEventIds = {
  call: (requestId: string) => requestId,
  refused: (requestId: string) => requestId,
  voided: (requestId: string) => `${requestId}:void`,
} as const;

export const callEvents = {
  'call.completed': defineBookedEvent({
    meaning: 'A model call ended; the event carries the charge.',
    by: 'model-router',
    data: callCompleted,
    shows: [...(['model', 'requested_model', 'status', 'cost_nano', 'latency_ms', 'error_code'] as const)],
    booked: { id: ({ request_id }) => callEventIds.call(request_id), kind: 'call', repeats: 'same_time' },
  }),
  'call.refused': defineBookedEvent({
    meaning: 'An authenticated call was refused before it reached a model; free.',
    by: 'edge',
    data: callRefused,
    shows: ['method', 'path', 'http_status', 'error_code'],
    booked: {
      id: ({ request_id }) => callEventIds.refused(request_id),
      kind: null,
      log: 'call',
      repeats: 'same_time',
    },
  }),
  'call.voided': defineBookedEvent({
    meaning: 'The answer never reached its caller: the charge is taken back.',
    by: 'edge',
    data: callVoided,
    shows: ['request_id', 'reason'],
    booked: { id: ({ request_id }) => callEventIds.voided(request_id), kind: 'void', repeats: 'any_time' },
  }),
} as const;
