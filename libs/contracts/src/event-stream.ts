// GET /v1/events: the events of an org as server-sent events, in the shape that webhooks send, with a position to resume from.
import { z } from 'zod';
import type { Event } from './events.ts';
import { idOf } from './ids.ts';
import { webhookEvent } from './webhooks.ts';

const EVENT_FILTERS_MAX = 100;
/** Concurrent event streams of one key, and of one org, on one edge. */
export const EVENT_STREAMS_PER_KEY_MAX = 16;
export const EVENT_STREAMS_PER_ORG_MAX = 256;

/** `<sequence in EVENTS>.<sequence in REFUSALS>`; the second part may be left out. */
export const EVENT_POSITION = /^\d{1,15}(\.\d{1,15})?$/;

export const eventStreamQuery = z.strictObject({
  type: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(webhookEvent).max(EVENT_FILTERS_MAX))
    .optional()
    .describe('Only these events, separated by commas: names, or `computer.*` for all of a noun'),
  key: idOf('key').optional().describe('Only events of this API key'),
  computer: idOf('computer').optional().describe('Only events of this computer'),
  since: z
    .string()
    .regex(EVENT_POSITION, 'must be 0 or an earlier id')
    .optional()
    .describe('Begin after this position: an id that the stream sent. 0: all events that are kept'),
});
export type EventStreamQuery = z.infer<typeof eventStreamQuery>;

/** The `data` of one server-sent event. */
export const streamedEvent = z.object({
  id: z.string().describe('Id of the event, as in `webhook-id`'),
  type: z.string().describe('Name of the event'),
  timestamp: z.iso.datetime().describe('When it happened'),
  data: z.record(z.string(), z.unknown()).describe('As in docs/events.md'),
});
export type StreamedEvent = z.infer<typeof streamedEvent>;

export function toStreamedEvent({ id, type, time, data }: Event): StreamedEvent {
  return { id, type, timestamp: time, data };
}
